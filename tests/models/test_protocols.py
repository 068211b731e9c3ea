"""What a state does when search selects, and what a batch must be before a model reads it."""

from dataclasses import dataclass
from typing import NamedTuple

import jaxtyping
import pytest
import torch
from torch import Tensor

from regard.errors import ConfigError, ModelError
from regard.models import State, Vocabulary
from regard.models.protocols import check_pair, check_pieces, if_ragged, pick, repeated


@dataclass(frozen=True)
class Chooser:
    """Something that selects for itself."""

    numbers: Tensor

    def select(self, rows: Tensor) -> "Chooser":
        return Chooser(self.numbers[rows])


class Named(NamedTuple):
    numbers: Tensor
    length: int
    places: range
    nothing: None


ROWS = torch.tensor([2, 0, 0])


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user sees: outside tests nobody checks the shapes in signatures."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_picking_reaches_every_tensor_of_a_tree_and_keeps_its_shape() -> None:
    numbers = torch.arange(3) * 10
    tree = (Named(numbers, 7, range(4), None), (Chooser(numbers), numbers), 5)
    named, (chooser, plain), count = pick(tree, ROWS)
    assert isinstance(named, Named)
    assert (named.length, named.places, named.nothing, count) == (7, range(4), None, 5)
    for found in (named.numbers, chooser.numbers, plain):
        assert found.tolist() == [20, 0, 0]


def test_selecting_hypotheses_leaves_what_they_share_alone() -> None:
    state = State((torch.arange(3),), (torch.arange(3) * 10,))
    chosen = state.select(ROWS)
    assert chosen.shared is state.shared
    assert chosen.own[0].tolist() == [20, 0, 0]


def test_selecting_sources_selects_what_they_share_too() -> None:
    state = State((torch.arange(3),), (torch.arange(6) * 10,))
    chosen = state.select(torch.tensor([5, 4]), torch.tensor([2]))
    assert chosen.shared[0].tolist() == [2]
    assert chosen.own[0].tolist() == [50, 40]


def test_rows_are_repeated_source_by_source() -> None:
    rows = torch.tensor([1, 2])
    assert repeated(rows, 3).tolist() == [1, 1, 1, 2, 2, 2]
    assert repeated(rows, 1) is rows


def test_a_mask_that_hides_nothing_is_no_mask() -> None:
    ragged = torch.tensor([[True, False]])
    assert if_ragged(torch.ones(2, 3, dtype=torch.bool)) is None
    assert if_ragged(None) is None
    assert if_ragged(ragged) is ragged


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("pieces", "real", "words"),
    [
        (torch.zeros(2, 0, dtype=torch.long), None, "shape (2, 0)"),
        (torch.zeros(0, 3, dtype=torch.long), None, "shape (0, 3)"),
        (torch.zeros(3, dtype=torch.long), None, "shape (3,)"),
        (torch.zeros(2, 3), None, "torch.float32"),
        (torch.tensor([[1, 9]]), None, "Piece 9 is outside the vocabulary of 9 (0 to 8)"),
        (torch.tensor([[1, -100]]), None, "Piece -100 is outside the vocabulary of 9 (0 to 8)"),
        (torch.ones(2, 3, dtype=torch.long), torch.ones(2, 4, dtype=torch.bool), "(2, 4), expected torch.bool"),
        (torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3, dtype=torch.long), "torch.int64 of shape (2, 3)"),
        (torch.ones(2, 3, dtype=torch.long), torch.zeros(2, 3, dtype=torch.bool), "perhaps it is inverted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_batch_no_model_can_read_is_refused_in_one_sentence(pieces: Tensor, real: Tensor | None, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        check_pieces(pieces, real, 9)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_batch_any_model_can_read_is_let_through() -> None:
    check_pieces(torch.tensor([[0, 8]]), torch.tensor([[True, False]]), 9)


@pytest.mark.usefixtures("unchecked")
def test_every_source_needs_its_target() -> None:
    with pytest.raises(ModelError, match="3 sources but 2 targets"):
        check_pair(torch.ones(3, 2, dtype=torch.long), torch.ones(2, 2, dtype=torch.long), Vocabulary(9, 9))


@pytest.mark.parametrize(("pieces", "name"), [({"begin": 9}, "begin = 9"), ({"end": -1}, "end = -1")])
def test_a_vocabulary_holds_its_own_begin_and_end(pieces: dict[str, int], name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is no piece of the target's vocabulary of 9"):
        Vocabulary(9, 9, **pieces)
