"""The reversal corpus."""

from hypothesis import given
from hypothesis import strategies as st

from regard.starter import ALPHABET, reversal


@given(st.integers(0, 50), st.integers(0, 2**32), st.integers(2, 5), st.integers(0, 6))
def test_targets_are_sources_backwards_all_different_and_of_the_asked_lengths(
    count: int, seed: int, shortest: int, more: int
) -> None:
    pairs = reversal(count, seed, shortest, shortest + more)
    assert len({source for source, _ in pairs}) == count
    assert all(target == source[::-1] and set(source) <= set(ALPHABET) for source, target in pairs)
    assert all(shortest <= len(source) <= shortest + more for source, _ in pairs)


def test_the_same_seed_gives_the_same_strings() -> None:
    assert reversal(20, 7) == reversal(20, 7) != reversal(20, 8)
