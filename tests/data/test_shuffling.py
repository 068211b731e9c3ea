"""Permutations without memory, and corpora mixed by weight."""

from collections import Counter
from itertools import permutations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from regard.data import Mixture, shuffled
from regard.data.shuffling import key

seeds = st.integers(0, 2**64 - 1)


@given(st.integers(1, 3000), seeds)
@example(1, 0)
@example(2, 0)
@example(2**12, 1)
@example(2**12 + 1, 1)
def test_every_position_goes_to_a_place_of_its_own(size: int, seed: int) -> None:
    assert sorted(shuffled(np.arange(size), size, seed).tolist()) == list(range(size))


@given(st.integers(1, 10**12), seeds, st.data())
def test_any_position_can_be_asked_for_alone(size: int, seed: int, data: st.DataObject) -> None:
    positions = np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20)))
    together = shuffled(positions, size, seed)
    assert together.tolist() == [int(shuffled(positions[i : i + 1], size, seed)[0]) for i in range(len(positions))]
    assert all(0 <= place < size for place in together)
    assert len(set(together.tolist())) == len(set(positions.tolist()))


def test_the_order_is_a_promise() -> None:
    """A run resumed under another version of numpy, or of this file, must see the same order."""
    assert shuffled(np.arange(10), 10, key(1, "epoch", 0)).tolist() == [0, 7, 1, 3, 6, 9, 4, 2, 8, 5]
    assert shuffled(np.arange(5), 10**9, key(1, "epoch", 0)).tolist() == [
        664426807,
        877539047,
        722798819,
        626078457,
        106788259,
    ]


def test_every_order_of_a_few_is_equally_likely() -> None:
    drawn = Counter(tuple(shuffled(np.arange(4), 4, key("test", number)).tolist()) for number in range(1200))
    assert set(drawn) == set(permutations(range(4)))
    chi_square = sum((count - 50) ** 2 / 50 for count in drawn.values())
    assert chi_square < 50  # 23 degrees of freedom: 1 in 1,000


def test_neighbours_are_torn_apart() -> None:
    places = shuffled(np.arange(100_003), 100_003, key("test"))
    assert abs(np.corrcoef(places[:-1], places[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(places, np.arange(100_003))[0, 1]) < 0.02


corpora = st.lists(
    st.tuples(st.integers(1, 50), st.sampled_from([0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0])), min_size=1, max_size=4
)


def counted(mixture: Mixture, epochs: range) -> Counter[int]:
    slots = np.arange(len(mixture))
    return Counter(example for epoch in epochs for example in mixture.examples(epoch, slots).tolist())


@given(corpora, seeds, st.integers(0, 100))
def test_a_corpus_of_weight_w_gives_w_times_its_size(corpora: list[tuple[int, float]], seed: int, epoch: int) -> None:
    sizes, weights = zip(*corpora, strict=True)
    mixture = Mixture(sizes, weights, seed)
    seen = counted(mixture, range(epoch, epoch + 1))
    start = 0
    for size, weight in corpora:
        counts = [seen[start + example] for example in range(size)]
        assert sum(counts) == max(int(weight * size + 0.5), 1)
        if weight == int(weight):
            assert set(counts) == {int(weight)}
        start += size
    assert sum(seen.values()) == len(mixture)


@given(st.integers(1, 60), st.sampled_from([0.1, 0.25, 0.7, 1.3]), seeds)
def test_fractions_take_turns(size: int, weight: float, seed: int) -> None:
    """However many epochs, no example is more than one ahead of another."""
    mixture = Mixture([size], [weight], seed)
    for epochs in (1, 3, 7):
        seen = counted(mixture, range(epochs))
        counts = [seen[example] for example in range(size)]
        assert max(counts) - min(counts) <= 1


@given(st.lists(st.integers(1, 30), min_size=1, max_size=3), st.integers(2, 5), seeds, st.integers(0, 20))
def test_a_pass_has_each_example_in_one_of_its_ways_and_many_have_all(
    sizes: list[int], ways: int, seed: int, epoch: int
) -> None:
    mixture = Mixture(sizes, [1.0] * len(sizes), seed, ways)
    assert len(mixture) == sum(sizes)
    for one in range(epoch, epoch + 2):
        seen = counted(mixture, range(one, one + 1))
        assert Counter(example // ways for example in seen.elements()) == Counter(range(sum(sizes)))
    every = counted(mixture, range(epoch, epoch + ways))
    assert every == Counter(range(sum(sizes) * ways))


def test_epochs_and_seeds_differ() -> None:
    orders = {
        (seed, epoch): tuple(Mixture([50], [1.0], seed).examples(epoch, np.arange(50)).tolist())
        for seed in range(3)
        for epoch in range(3)
    }
    assert len(set(orders.values())) == 9


def test_corpora_are_mixed_through_the_epoch() -> None:
    examples = Mixture([1000, 1000], [1.0, 1.0], 0).examples(0, np.arange(2000))
    assert 400 < (examples[:1000] < 1000).sum() < 600
