"""Language models go on from prompts of any length, from none at all, and refuse what they cannot go on from."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.errors import ModelError
from regard.models import Vocabulary, build
from regard.nn.stepping import Ordinary

PIECES = Vocabulary(20, 20, begin=1, end=2)
SETTINGS: dict[str, dict[str, Any]] = {
    "transformer_language": {"width": 16, "layers": 2, "attention": {"heads": 4}, "feedforward": {"hidden": 24}},
    "recurrent_language": {"width": 16, "layers": 2},
}
every_language = pytest.mark.parametrize("name", SETTINGS)
ROTARY = {"position": "rotary"}


def language(name: str, **chosen: Any) -> nn.Module:
    return build(name, {**SETTINGS[name], **chosen}, PIECES).eval()


@every_language
@torch.no_grad()
def test_an_empty_prompt_begins_with_the_piece_that_begins(name: str) -> None:
    model = language(name)
    prompts = torch.tensor([[5, 6, 7], [9, 9, 9]])
    started = model.start(prompts, torch.tensor([[True] * 3, [False] * 3]))
    assert started.first.tolist() == [7, PIECES.begin]
    found, _ = model.step(started.first, started.state)
    alone = model.start(torch.tensor([[PIECES.begin]]))
    expected, _ = model.step(alone.first, alone.state)
    assert_close(found[1:], expected)


@every_language
@torch.no_grad()
def test_a_prompt_of_one_piece_has_nothing_to_read_before_its_first_step(name: str) -> None:
    model = language(name)
    started = model.start(torch.tensor([[5], [6]]))
    assert started.first.tolist() == [5, 6]
    found, _ = model.step(started.first, started.state)
    expected = model.output.log_probabilities(model(torch.tensor([[5], [6]])))[:, 0]
    assert_close(found, expected)


@every_language
def test_padding_before_or_within_a_prompt_is_refused(name: str) -> None:
    model = language(name)
    for real in ([[False, True, True]], [[True, False, True]]):
        with pytest.raises(ModelError, match="padding must follow it"):
            model.start(torch.tensor([[5, 6, 7]]), torch.tensor(real))


@every_language
@torch.no_grad()
def test_nothing_of_a_text_is_shared_since_every_hypothesis_owns_its_own(name: str) -> None:
    shared = language(name).start(torch.tensor([[5, 6]])).state.shared
    assert shared is None or isinstance(shared, Ordinary)


@torch.no_grad()
def test_with_rotary_positions_a_text_means_the_same_wherever_it_starts() -> None:
    model = language("transformer_language", **ROTARY)
    pieces = torch.tensor([[5, 6, 7]])
    here = model._decode(pieces, None, range(3), None)[0].hidden
    there = model._decode(pieces, None, torch.tensor([[40, 41, 42]]), None)[0].hidden
    assert_close(here, there, atol=1e-5, rtol=1e-5)


@every_language
def test_tied_output_is_the_embedding_itself(name: str) -> None:
    tied, untied = language(name, tied=True), language(name, tied=False)
    assert tied.output.readout.weight is tied.embedding.vectors
    assert untied.output.readout.weight is not untied.embedding.vectors
