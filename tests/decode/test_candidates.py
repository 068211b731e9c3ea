"""The highest scores of a row are found without sorting the row."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decode import SearchSettings
from regard.decode.candidates import BLOCK, top
from regard.errors import ModelError
from tests.decode.toys import Markov, outputs, random_tables

SOURCE = torch.tensor([[3, 4], [3, 5], [5, 5]])


@given(st.integers(1, 5), st.integers(1, 9 * BLOCK), st.integers(1, 12), st.integers(0, 1000))
def test_the_highest_are_those_torch_finds(rows: int, size: int, count: int, seed: int) -> None:
    scores = torch.randn(rows, size, generator=torch.Generator().manual_seed(seed))
    values, pieces = top(scores, count)
    assert torch.equal(values, scores.topk(min(count, size)).values)
    assert torch.equal(scores.gather(1, pieces), values)


@pytest.mark.parametrize("piece", [0, 100, 8 * BLOCK + 3])
def test_a_nan_anywhere_in_a_row_is_found(piece: int) -> None:
    scores = torch.randn(2, 8 * BLOCK + 5)
    scores[1, piece] = torch.nan
    with pytest.raises(ModelError, match=f"piece {piece} in row 1 "):
        top(scores, 3)


def test_groups_that_do_not_mind_each_other_all_find_the_same() -> None:
    settings = SearchSettings(method="diverse", beams=6, groups=3, best=6, diversity=0.0)
    alike = outputs(Markov(random_tables(3)), SOURCE, None, settings)
    one_group = outputs(Markov(random_tables(3)), SOURCE, None, SearchSettings(beams=2, best=2))
    assert [found[:2] for found in alike] == one_group
    assert all(len(found) == len(set(found)) for found in alike)


def test_groups_that_keep_apart_begin_differently() -> None:
    settings = SearchSettings(method="diverse", beams=3, best=3, diversity=50.0)
    tables = random_tables(3)
    tables[..., 2] -= 5.0
    for found in outputs(Markov(tables.log_softmax(-1)), SOURCE, None, settings):
        assert {pieces[0] for pieces in found} == {3, 4, 5}
