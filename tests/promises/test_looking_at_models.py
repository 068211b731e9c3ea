"""Promises 1 and 2, for models: any layer, head, row, text or step may be looked at, and a text may be empty."""

from collections.abc import Iterator
from typing import Any

import jaxtyping
import pytest
import torch
from hypothesis import given as drawing
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.attention import record
from regard.attention.taps import Record
from tests.contracts.models import CASES, SOURCE, Case, batch, loss

BY_NAME = {str(case): case for case in CASES}
LOOKED_AT = {
    "transformer: position rotary": 2,
    "transformer: joint, alibi": 2,
    "transformer: dropped weights": 2,
    "transformer: grouped queries": 2,
    "convolutional: plain": 2,
    "transformer_language: Llama": 2,
}
AXES = {"B": "examples", "H": "heads", "Q": "rows", "T": "rows"}


@pytest.fixture(scope="module", autouse=True)
def unchecked() -> Iterator[None]:
    """Without checking signatures, which the contracts do: three times as fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        yield


def trained(case: Case, model: nn.Module) -> list[Tensor]:
    """The loss of one step of training, dropout drawn from a fixed seed, and every gradient."""
    model.zero_grad()
    torch.manual_seed(5)
    found = loss(case, model, batch(case)).total
    found.backward()
    return [found.detach(), *(parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None)]


def part(entry: Record, chosen: dict[str, list[int]]) -> Tensor:
    """The part of a whole record that was asked for."""
    tensor = entry.tensor
    for dimension, axis in enumerate(entry.axes):
        places = chosen.get(AXES.get(axis, ""))
        if places is not None:
            tensor = tensor.index_select(dimension, torch.tensor(places) % tensor.shape[dimension])
    return tensor


@pytest.mark.parametrize("name", LOOKED_AT)
@settings(max_examples=5)
@drawing(
    layers=st.sampled_from([None, [0], [-1], [0, 1]]),
    heads=st.sampled_from([None, [0], [-1]]),
    rows=st.sampled_from([None, [0], [2, -1]]),
    examples=st.sampled_from([None, [1], [2, 0]]),
)
def test_whatever_part_is_asked_for_is_that_part_of_the_whole_and_changes_not_a_bit(
    name: str, **asked: list[int] | None
) -> None:
    case = BY_NAME[name]
    model = case.build().train()
    if not any("heads" in key for key in case.settings.get("attention", {"heads": 1})):
        asked["heads"] = None
    chosen: dict[str, Any] = {axis: places for axis, places in asked.items() if places is not None}
    unwatched = trained(case, model)
    with record(model, "*blocks*.weights", "*blocks*.scores", "*blocks*.output") as everything:
        trained(case, model)
    with record(model, "*blocks*.weights", "*blocks*.scores", "*blocks*.output", **chosen) as seen:
        watched = trained(case, model)
    assert all(torch.equal(one, other) for one, other in zip(unwatched, watched, strict=True))
    whole = {(entry.name, entry.step): entry for entry in everything}
    assert seen
    for entry in seen:
        expected = part(whole[entry.name, entry.step], chosen)
        torch.testing.assert_close(entry.tensor, expected, atol=1e-6, rtol=1e-5)
    if asked["layers"] is None:
        assert len(seen) == len(everything)


@pytest.mark.parametrize("name", LOOKED_AT)
@torch.no_grad()
def test_any_step_of_any_beam_can_be_looked_at_while_it_is_written(name: str) -> None:
    case = BY_NAME[name]
    model, given = case.build(), batch(case)
    rows = torch.arange(3).repeat_interleave(2)

    def written() -> list[Tensor]:
        started = model.start(given.source, given.real)
        state, found = started.state.select(rows), []
        for pieces in given.target[rows].unbind(1):
            log_probabilities, state = model.step(pieces, state)
            found.append(log_probabilities)
        return found

    unwatched = written()
    with record(model, "*blocks*.weights", examples=[5], steps=[2]) as seen:
        watched = written()
    assert all(torch.equal(one, other) for one, other in zip(unwatched, watched, strict=True))
    own = [entry for entry in seen if entry.name.startswith(("decoder", "blocks"))]
    assert own
    assert all(entry.step == 2 and entry.tensor.shape[0] == 1 and entry.check is not None for entry in own)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        "transformer: position sinusoidal",
        "transformer: chunked kernel",
        "transformer: cross monotonic",
        "transformer: cross sparsemax",
        "recurrent: additive before",
        "recurrent: scaled_dot after",
        "recurrent: local_p after",
        "convolutional: plain",
    ],
)
def test_an_empty_source_gives_an_empty_context_and_no_gradient(name: str, training: bool) -> None:
    case = BY_NAME[name]
    model = case.build().train(training)
    crossing = "decoder.blocks.*.cross.mechanism" if case.model == "transformer" else "*attention.mechanism"
    patterns = [f"{crossing}.context", f"{crossing}.weights"]
    with record(model, *patterns) as seen:
        loss(case, model, batch(case, (SOURCE, 3, 0))).total.backward()
    assert seen
    for entry in seen:
        assert torch.equal(entry.tensor[2], torch.zeros_like(entry.tensor[2]))
        assert entry.tensor[:2].any()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)
