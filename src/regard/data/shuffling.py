"""Shuffles that are computed, not stored: where any one position goes is known without the others.

A keyed permutation of any number of positions takes no memory and starts anywhere at once. It is a Feistel network
(Luby and Rackoff 1988) over the next power of two, walked until it lands inside (Black and Rogaway 2002). It uses
nothing of numpy's random generators, whose streams may change between versions.
"""

import math
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from jaxtyping import Int64, UInt64

# Eight rounds are even enough for many positions; with few, every order is equally likely only after more (measured).
ROUNDS, ROUNDS_OF_FEW, FEW_BITS = 8, 24, 16


def key(*numbers: int | str) -> int:
    """A 64-bit number that stands for these, different for different ones."""
    return int.from_bytes(blake2b(repr(numbers).encode(), digest_size=8).digest(), "little")


def shuffled(positions: Int64[np.ndarray, " N"], size: int, key: int) -> Int64[np.ndarray, " N"]:
    """Where the permutation of range(size) that `key` names puts each of these positions."""
    places = _step(positions.astype(np.uint64), size, key)
    outside = np.flatnonzero(places >= size)
    while outside.size:
        places[outside] = _step(places[outside], size, key)
        outside = outside[places[outside] >= size]
    return places.astype(np.int64)


class Mixture:
    """Corpora of different weight, as slots of an epoch.

    A corpus of weight w gives round(w x its size) examples to every epoch, at least one. They are taken from an endless
    row of shuffled passes over it, each epoch going on where the last one stopped: no example comes again before all
    others of its corpus came. With weight 1 an epoch is one pass; with 0.25 four epochs are; with 2, every example
    comes twice. Examples are numbered through, corpus after corpus.

    Where `ways` neighbours are the same in several ways, sizes count those of one way: a pass has each once, in the
    next of its ways, so that as many passes as there are ways have them all.
    """

    def __init__(self, sizes: Sequence[int], weights: Sequence[float], seed: int, ways: int = 1):
        self.sizes = tuple(sizes)
        self.seed, self.ways = seed, ways
        self.draws = [max(math.floor(weight * size + 0.5), 1) for size, weight in zip(sizes, weights, strict=True)]
        self.starts = np.cumsum([0, *(size * ways for size in sizes)])
        self.ends = np.cumsum(self.draws)

    def __len__(self) -> int:
        """How many examples an epoch has."""
        return int(self.ends[-1])

    def examples(self, epoch: int, slots: Int64[np.ndarray, " N"]) -> Int64[np.ndarray, " N"]:
        """Which example stands in each of these slots of an epoch."""
        places = shuffled(slots, len(self), key(self.seed, "epoch", epoch))
        corpora = np.searchsorted(self.ends, places, side="right")
        examples = np.empty_like(places)
        for corpus, draws in enumerate(self.draws):
            mine = corpora == corpus
            examples[mine] = self.starts[corpus] + self._drawn(
                corpus, epoch * draws + places[mine] - self._before(corpus)
            )
        return examples

    def _before(self, corpus: int) -> int:
        return int(self.ends[corpus]) - self.draws[corpus]

    def _drawn(self, corpus: int, positions: Int64[np.ndarray, " N"]) -> Int64[np.ndarray, " N"]:
        """The examples at these positions of the endless row of passes over one corpus."""
        passes, places = np.divmod(positions, self.sizes[corpus])
        drawn = np.empty_like(places)
        for number in np.unique(passes).tolist():
            within = passes == number
            name = key(self.seed, "pass", corpus, number)
            drawn[within] = shuffled(places[within], self.sizes[corpus], name)
        return drawn if self.ways == 1 else self._in_its_way(corpus, drawn, passes)

    def _in_its_way(
        self, corpus: int, drawn: Int64[np.ndarray, " N"], passes: Int64[np.ndarray, " N"]
    ) -> Int64[np.ndarray, " N"]:
        """Examples by the way that is each one's turn; which comes first is its own."""
        first = _mixed(drawn.astype(np.uint64), key(self.seed, "ways", corpus), 0) % np.uint64(self.ways)
        return drawn * self.ways + (first.astype(np.int64) + passes) % self.ways


def _step(places: UInt64[np.ndarray, " N"], size: int, key: int) -> UInt64[np.ndarray, " N"]:
    """One keyed permutation of the smallest power of two (at least 4) that holds `size`."""
    bits = max((size - 1).bit_length(), 2)
    low = np.uint64(bits // 2)
    low_mask, high_mask = np.uint64(2 ** (bits // 2) - 1), np.uint64(2 ** (bits - bits // 2) - 1)
    left, right = places >> low, places & low_mask
    for number in range(0, ROUNDS_OF_FEW if bits <= FEW_BITS else ROUNDS, 2):
        left = left ^ (_mixed(right, key, number) & high_mask)
        right = right ^ (_mixed(left, key, number + 1) & low_mask)
    return (left << low) | right


def _mixed(values: UInt64[np.ndarray, " N"], key: int, number: int) -> UInt64[np.ndarray, " N"]:
    """The finalizer of SplitMix64 (Steele et al. 2014) over the value and the key of this round."""
    mixed = values + np.uint64((key + (number + 1) * 0x9E3779B97F4A7C15) % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
