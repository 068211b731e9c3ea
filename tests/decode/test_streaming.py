"""What is settled while beam search runs is never taken back."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from regard.decode import Request, SearchSettings, search, stream
from tests.decode.toys import PAD, Markov, random_tables

SOURCE = torch.tensor([[3, 4]])


@pytest.mark.parametrize("method", ["greedy", "beam", "sure", "diverse", "sample"])
@examples(max_examples=6)
@given(seed=st.integers(0, 10_000))
def test_what_is_settled_only_grows_and_ends_as_the_best_output_of_search(method: str, seed: int) -> None:
    stop = {"stop": "sure"} if method == "sure" else {}
    settings = SearchSettings(method="beam" if method == "sure" else method, beams=3, **stop)
    model, request = Markov(random_tables(seed, sharpness=4.0)), Request(longest=8)
    seen = list(stream(model, SOURCE, None, settings, request, banned=(PAD,)))
    expected = search(model, SOURCE, None, settings, [request], banned=(PAD,))[0]
    assert list(seen[-1].outputs) == expected
    assert all(not each.outputs for each in seen[:-1])
    for earlier, later in pairwise(seen):
        assert later.settled[: len(earlier.settled)] == earlier.settled
    assert seen[-1].settled == expected[0].pieces


def test_greedy_search_settles_every_piece_at_once() -> None:
    tables = random_tables(3)
    tables[..., 2] -= 9.0
    seen = stream(Markov(tables), SOURCE, None, SearchSettings(method="greedy"), Request(longest=5), banned=(PAD,))
    assert [len(each.settled) for each in seen] == [1, 2, 3, 4, 5]


def test_a_beam_settles_some_of_a_long_output_before_its_end() -> None:
    tables = random_tables(3, sharpness=4.0)
    tables[..., 2] -= 9.0
    model = Markov(tables.log_softmax(-1))
    seen = list(stream(model, SOURCE, None, SearchSettings(beams=3), Request(longest=12), banned=(PAD,)))
    assert len(seen) > 2
