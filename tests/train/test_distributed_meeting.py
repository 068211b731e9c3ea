"""Processes that torchrun starts again find one another, whatever the attempts before left in the store."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributed import HashStore

from regard.train.distributed import Parted, met

SIZE = 3
ATTEMPTS = st.lists(st.sets(st.integers(0, SIZE - 1), max_size=SIZE - 1), max_size=3)


def attempt(store: HashStore, ranks: set[int], seconds: float) -> list[str]:
    def one(rank: int) -> str:
        try:
            return met(store, rank, SIZE, seconds)
        except Parted as error:
            return f"{rank}: {error}"

    with ThreadPoolExecutor(SIZE) as pool:
        return list(pool.map(one, sorted(ranks)))


@settings(max_examples=10)
@given(ATTEMPTS)
def test_all_of_an_attempt_meet_by_one_new_name_whatever_is_left_of_earlier_ones(failed: list[set[int]]) -> None:
    store, everyone = HashStore(), set(range(SIZE))
    names: list[str] = []
    for ranks in failed:
        attempt(store, ranks, 0.12)
        met_by = set(attempt(store, everyone, 60.0))
        assert len(met_by) == 1
        names.extend(met_by)
    names.extend(set(attempt(store, everyone, 60.0)))
    assert len(names) == len(failed) + 1 == len(set(names))


def test_a_process_whose_others_never_come_says_so() -> None:
    with pytest.raises(Parted, match="Process 1 of 3 did not meet the others in 0 seconds; are they all started"):
        met(HashStore(), 1, SIZE, 0.0)
