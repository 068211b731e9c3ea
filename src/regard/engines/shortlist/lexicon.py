"""What the pieces of a source were rendered by in training: what a text may be written with.

pairs of pieces in the same pair of texts -> how likely each is the other's rendering -> the likeliest of each piece
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from regard.errors import DataError
from regard.files import shown

FILE = "lexicon.safetensors"
# The renderings of each piece, and how many of the pieces that training writes most are offered to every text.
RENDERINGS, COMMON = 20, 100
# So many pairs of pieces are looked at, in the first texts of training, and so often.
PAIRS, ROUNDS = 40_000_000, 4
# A rendering that is less likely than this stands there by chance.
LEAST = 1e-3
NONE = -1


@dataclass(frozen=True)
class Lexicon:
    """For each piece of a source the pieces of a target that render it, and those that any text may need."""

    renderings: Int[ndarray, "S R"]
    common: Int[ndarray, " C"]

    @classmethod
    def learn(cls, pairs: Iterable[tuple[Sequence[int], Sequence[int]]], source: int, target: int) -> "Lexicon":
        """From pairs of texts in pieces: word translation probabilities   (Brown et al. 1993, model 1)."""
        read, written, group, counts = _together(pairs, source, target)
        if not len(read):
            raise DataError("Training has no pair of texts to learn from what a piece is rendered by.")
        both, which = np.unique(read * target + written, return_inverse=True)
        of: ndarray = both // target
        chance: ndarray = np.ones(len(both))
        for _ in range(ROUNDS):
            weights = chance[which]
            chance = np.bincount(which, weights / np.bincount(group, weights)[group])
            chance = chance / np.bincount(of, chance)[of]
        return cls(_likeliest(of, both % target, chance, source), np.argsort(-counts, kind="stable")[:COMMON])

    def offered(self, source: Sequence[int], besides: Iterable[int]) -> Int[ndarray, " N"]:
        """The pieces that the rendering of a source may be written with, in order; `besides` are needed anyway."""
        read = np.unique(np.asarray(source))
        found = self.renderings[read[read < len(self.renderings)]].ravel()
        return np.unique(np.concatenate([found[found != NONE], self.common, np.fromiter(besides, np.int64)]))

    def save(self, folder: Path) -> None:
        save_file(
            {"renderings": self.renderings.astype(np.int32), "common": self.common.astype(np.int32)}, folder / FILE
        )

    @classmethod
    def load(cls, folder: Path) -> "Lexicon":
        try:
            known = load_file(folder / FILE)
            return cls(known["renderings"].astype(np.int64), known["common"].astype(np.int64))
        except (OSError, SafetensorError, KeyError):
            raise DataError(f"{shown(folder / FILE)} is damaged; export the bundle again.") from None


def _together(
    pairs: Iterable[tuple[Sequence[int], Sequence[int]]], source: int, target: int
) -> tuple[Int[ndarray, " P"], Int[ndarray, " P"], Int[ndarray, " P"], Int[ndarray, " V"]]:
    """Every piece in a pair's source beside every one in its target, numbers of the latter, and how often each piece is
    written. Each source has one piece more, for what renders nothing."""
    reads: list[ndarray] = []
    writes: list[ndarray] = []
    groups: list[ndarray] = []
    counts, known, targets = np.zeros(target, np.int64), 0, 0
    for one, other in pairs:
        read, written = np.append(np.unique(np.asarray(one, np.int64)), source), np.unique(np.asarray(other, np.int64))
        if known + len(read) * len(written) > PAIRS:
            break
        counts[written] += 1
        reads.append(np.tile(read, len(written)))
        writes.append(np.repeat(written, len(read)))
        groups.append(np.repeat(np.arange(targets, targets + len(written)), len(read)))
        known, targets = known + len(read) * len(written), targets + len(written)
    read, written, group = (np.concatenate([np.empty(0, np.int64), *some]) for some in (reads, writes, groups))
    return read, written, group, counts


def _likeliest(
    of: Int[ndarray, " B"], rendering: Int[ndarray, " B"], chance: ndarray, source: int
) -> Int[ndarray, "S R"]:
    """The likeliest renderings of each piece of a source, the likeliest first."""
    order = np.lexsort((rendering, -chance, of))
    of, rendering, chance = of[order], rendering[order], chance[order]
    place = np.arange(len(of)) - np.searchsorted(of, of)
    kept = (place < RENDERINGS) & (chance >= LEAST) & (of < source)
    found = np.full((source, RENDERINGS), NONE)
    found[of[kept], place[kept]] = rendering[kept]
    return found
