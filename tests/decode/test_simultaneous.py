"""Writing while reading: by a fixed lag or by where attention points, with the latency it costs."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.decode import Latency, greedy, latency, monotonic, wait_k
from regard.errors import RequestError
from tests.decode.toys import END, PAD, Markov, random_tables, small_recurrent

SOURCE = torch.tensor([[3, 4, 5, 3, 4, 2]])
BOUNDARIES = [1, 3, 4, 6]


@pytest.mark.parametrize("k", [4, 9])
def test_having_read_everything_it_is_greedy_search(k: int) -> None:
    model = small_recurrent()
    found = wait_k(model, SOURCE, BOUNDARIES, k, longest=6)
    assert list(found.pieces) == greedy(model, SOURCE, None, 6)[0]
    assert set(found.reads) <= {4}


@pytest.mark.parametrize("k", [1, 2, 3])
def test_reads_follow_the_policy(k: int) -> None:
    tables = random_tables(2)
    tables[..., END] -= 9.0
    found = wait_k(Markov(tables.log_softmax(-1)), SOURCE, BOUNDARIES, k, longest=7, banned=(PAD,))
    assert found.reads == tuple(min(k + t, 4) for t in range(7))
    assert not found.complete


def test_each_piece_depends_only_on_what_was_read() -> None:
    model, other = small_recurrent(seed=3), SOURCE.clone()
    other[:, 3:] = 9
    first, second = (wait_k(model, each, BOUNDARIES, 1, longest=6) for each in (SOURCE, other))
    assert first.pieces[:2] == second.pieces[:2]
    assert first.pieces != second.pieces


def test_each_piece_is_the_likeliest_given_what_was_read_and_written() -> None:
    model = small_recurrent()
    found = wait_k(model, SOURCE, BOUNDARIES, 2, longest=5)
    for at, (piece, units) in enumerate(zip(found.pieces, found.reads, strict=True)):
        before = torch.tensor([[1, *found.pieces[:at]]])
        likely = model.output.log_probabilities(model(SOURCE[:, : BOUNDARIES[units - 1]], before))[0, -1]
        likely[[1] if units == 4 else [1, END]] = -torch.inf
        assert int(likely.argmax()) == piece


def test_the_end_waits_until_all_was_read() -> None:
    tables = random_tables(2)
    tables[..., END] += 9.0
    found = wait_k(Markov(tables.log_softmax(-1)), SOURCE, BOUNDARIES, 2, longest=9, banned=(PAD,))
    assert found.complete
    assert found.reads == (2, 3)


class PointsOnwards(Markov):
    """Attention that points at given places, one step after the other."""

    def __init__(self, tables: Tensor, places: list[int | None]) -> None:
        super().__init__(tables)
        self.todo = list(places)

    def step(self, pieces: Tensor, state):
        place = self.todo.pop(0)
        self.weights = torch.zeros(1, 6)
        if place is not None:
            self.weights[0, place] = 1.0
        return super().step(pieces, state)

    def last(self) -> Tensor:
        return self.weights


def test_monotonic_attention_has_read_as_far_as_it_ever_pointed() -> None:
    tables = random_tables(2)
    tables[..., END] -= 9.0
    model = PointsOnwards(tables.log_softmax(-1), [0, 0, 3, 3, None, 5])
    found = monotonic(model, SOURCE, model, longest=6, banned=(PAD,))
    # A step that stops nowhere has passed by everything (Raffel et al. 2017, 2.1): all was read.
    assert found.reads == (1, 1, 4, 4, 6, 6)
    assert len(found.pieces) == 6


def test_latency_of_reading_everything_first() -> None:
    assert latency([5, 5, 5], 5) == Latency(5.0, 1.0)


@given(st.integers(1, 6), st.integers(6, 12))
def test_lagging_of_wait_k_at_equal_lengths_is_k(k: int, units: int) -> None:
    reads = [min(k + t, units) for t in range(units)]
    assert latency(reads, units).average_lagging == pytest.approx(k)


def test_average_proportion_is_what_was_read_of_all() -> None:
    assert latency([1, 2, 3, 4], 4).average_proportion == pytest.approx(10 / 16)


def test_an_empty_output_wrote_nothing_before_all_was_read() -> None:
    assert latency([], 7) == Latency(7.0, 1.0)


@pytest.mark.parametrize(("boundaries", "k"), [([1, 3], 1), ([3, 3, 6], 1), ([], 1), ([6], 0)])
def test_boundaries_that_do_not_fit_are_refused(boundaries: list[int], k: int) -> None:
    with pytest.raises(RequestError, match="boundaries"):
        wait_k(Markov(random_tables(0)), SOURCE, boundaries, k, longest=3)


def test_more_read_than_there_is_is_refused() -> None:
    with pytest.raises(RequestError, match="source of 3 units"):
        latency([1, 4], 3)
