"""Greedy search takes the likeliest piece, whatever model it searches."""

import pytest
import torch

from regard.decode import greedy
from regard.models import MODELS, Vocabulary, build
from tests.decode.toys import Markov, random_tables

VOCABULARY = Vocabulary(12, 12, begin=1, end=2)
SMALL = {
    "transformer": {"width": 16, "layers": 1, "attention": {"heads": 2}, "feedforward": {"hidden": 16}},
    "recurrent": {"encoder": {"width": 16}, "decoder": {"width": 16}},
    "convolutional": {"width": 16, "layers": 1},
    "transformer_language": {"width": 16, "layers": 1, "attention": {"heads": 2}, "feedforward": {"hidden": 16}},
    "recurrent_language": {"width": 16},
}
LONGEST = 6


def model_and_source(name: str, end_bias: float = 0.0):
    torch.manual_seed(3)
    model = build(name, SMALL[name] | {"output_bias": True}, VOCABULARY).eval()
    model.output.readout.bias.data[VOCABULARY.end] += end_bias
    source = torch.randint(3, 12, (6, 5))
    real = torch.arange(5) < torch.tensor([5, 2, 4, 1, 3, 5])[:, None]
    return model, source, real


@pytest.mark.parametrize("name", MODELS)
def test_each_piece_is_the_likeliest_after_the_ones_before_it(name: str) -> None:
    model, source, _ = model_and_source(name)
    output = greedy(model, source[:1], None, LONGEST)[0]
    prefix = source[:1] if "language" in name else torch.tensor([[VOCABULARY.begin]])
    for piece in [*output, VOCABULARY.end][:LONGEST]:
        decoded = model(prefix) if "language" in name else model(source[:1], prefix)
        likely = model.output.log_probabilities(decoded)[0, -1]
        likely[VOCABULARY.begin] = -torch.inf
        assert int(likely.argmax()) == piece
        prefix = torch.cat([prefix, torch.tensor([[piece]])], dim=1)


@pytest.mark.parametrize("name", MODELS)
def test_a_text_gets_the_same_output_alone_and_in_company_though_others_end_early(name: str) -> None:
    model, source, real = model_and_source(name, end_bias=0.2)
    together = greedy(model, source, real, LONGEST)
    lengths = real.sum(1).tolist()
    alone = [greedy(model, source[i : i + 1, :length], None, LONGEST)[0] for i, length in enumerate(lengths)]
    assert together == alone


def test_outputs_end_at_their_own_time() -> None:
    found = greedy(Markov(random_tables(0, sources=9)), torch.arange(3, 12)[:, None], None, LONGEST)
    assert [len(output) for output in found] == [4, 2, 3, 0, 2, 0, 6, 0, 6]


def test_an_output_that_does_not_end_is_cut_at_the_limit() -> None:
    outputs = greedy(*model_and_source("transformer", end_bias=-100.0), LONGEST)
    assert [len(output) for output in outputs] == [LONGEST] * 6


def test_outputs_that_end_at_once_are_empty_and_none_is_lost() -> None:
    assert greedy(*model_and_source("recurrent", end_bias=100.0), LONGEST) == [[]] * 6
