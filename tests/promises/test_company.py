"""Promise 3, for models: a text gets the same output and explanation alone, in any batch and at any padding."""

from collections.abc import Iterator
from typing import NamedTuple

import jaxtyping
import pytest
import torch
from hypothesis import given as drawing
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.attention import record
from tests.contracts.models import CASES, Batch, Case, batch, stepwise, texts, whole

TARGET = 9
LONGEST = 6

FAMILIES = [
    "transformer: position sinusoidal",
    "transformer: joint, rotary",
    "transformer: layerwise, pre",
    "transformer: copying",
    "transformer: cross location_aware",
    "recurrent: no attention",
    "recurrent: additive before",
    "recurrent: coverage feeding",
    "recurrent: local_p after",
    "recurrent: monotonic before",
    "recurrent: sparsemax",
    "recurrent: own past",
    "convolutional: plain",
    "transformer_language: Llama",
    "transformer_language: position alibi",
    "recurrent_language: gru, 2 layers",
]
BY_NAME = {str(case): case for case in CASES}
every_family = pytest.mark.parametrize("name", FAMILIES)


@pytest.fixture(scope="module", autouse=True)
def unchecked() -> Iterator[None]:
    """Without checking signatures, which the contracts do: three times as fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        yield


class Seen(NamedTuple):
    """What one text of a batch was given: log-probabilities, and every map of attention cut to what is real."""

    log_probabilities: Tensor
    maps: list[tuple[str, Tensor]]


def seen(case: Case, model: nn.Module, given: Batch, row: int) -> Seen:
    with torch.no_grad(), record(model, "*") as entries:
        found = whole(case, model, given)
    real = given.real if case.reads else texts(given).real
    weights = [(entry.name, entry.tensor[row]) for entry in entries if entry.name.endswith(".weights")]
    return Seen(found[row], [(name, cut(name, map_HQK, real[row])) for name, map_HQK in weights])


def cut(name: str, map_HQK: Tensor, real: Tensor) -> Tensor:
    """The map without its rows and columns of padding; a source may have the target's columns beside it."""
    if name.startswith("own."):
        return map_HQK
    for dimension in (1, 2):
        kept = torch.ones(map_HQK.shape[dimension], dtype=torch.bool)
        if len(kept) in (len(real), len(real) + TARGET):
            kept[: len(real)] = real
        map_HQK = map_HQK.index_select(dimension, kept.nonzero()[:, 0])
    return map_HQK


def padded(given: Batch, by: int) -> Batch:
    """More padding, with anything at all standing in it."""
    anything = torch.randint(0, 17, (len(given.source), given.source.shape[1] + by))
    real = nn.functional.pad(given.real, (0, by))
    return Batch(torch.where(real, nn.functional.pad(given.source, (0, by)), anything), real, given.target)


def assert_same(found: Seen, alone: Seen) -> None:
    scale = max(1.0, float(alone.log_probabilities.abs().max()))
    assert float((found.log_probabilities - alone.log_probabilities).abs().max()) <= 1e-5 * scale
    assert [name for name, _ in found.maps] == [name for name, _ in alone.maps]
    for (name, one), (_, other) in zip(found.maps, alone.maps, strict=True):
        assert one.shape == other.shape, name
        assert float((one - other).abs().max()) <= 1e-5, name


@every_family
@settings(max_examples=6)
@drawing(st.lists(st.integers(1, LONGEST), min_size=1, max_size=5), st.integers(0, 2), st.integers(0, 99), st.data())
def test_a_text_is_answered_and_explained_the_same_beside_any_neighbours(
    name: str, lengths: list[int], padding: int, seed: int, data: st.DataObject
) -> None:
    case = BY_NAME[name]
    row = data.draw(st.integers(0, len(lengths) - 1), label="row")
    model = case.build()
    given = batch(case, tuple(lengths), target=TARGET, seed=seed)
    assert_same(seen(case, model, padded(given, padding), row), seen(case, model, given.alone(row), 0))


@every_family
@torch.no_grad()
def test_a_texts_score_is_the_same_to_a_ten_thousandth_whatever_way_it_is_come_by(name: str) -> None:
    case = BY_NAME[name]
    model, given = case.build(), batch(case, (5, 1, 6, 3), target=TARGET)
    for row in range(4):
        scores = [
            score(one[place], given.target[row])
            for one, place in (
                (whole(case, model, given), row),
                (stepwise(model, given), row),
                (whole(case, model, given.alone(row)), 0),
                (stepwise(model, given.alone(row)), 0),
                (whole(case, model, padded(given.rows([row, 0, row]), 2)), 2),
            )
        ]
        assert max(scores) - min(scores) <= 1e-4


def score(log_probabilities: Tensor, target: Tensor) -> float:
    """log P(target), its first piece being given."""
    return float(log_probabilities[:-1].gather(1, target[1:, None]).sum())


@every_family
@torch.no_grad()
def test_the_order_of_a_batch_is_the_order_of_its_answers(name: str) -> None:
    case = BY_NAME[name]
    model, given = case.build(), batch(case, (5, 1, 6, 3), target=TARGET)
    order = torch.tensor([2, 0, 3, 1])
    found, expected = whole(case, model, given.rows(order)), whole(case, model, given)[order]
    assert float((found - expected).abs().max()) <= 1e-5 * max(1.0, float(expected.abs().max()))


def test_the_families_here_are_cases_of_the_contract() -> None:
    assert [name for name in FAMILIES if name not in BY_NAME] == []
    assert {BY_NAME[name].model for name in FAMILIES} == {case.model for case in CASES}
