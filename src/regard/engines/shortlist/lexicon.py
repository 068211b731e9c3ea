"""What the pieces of a source were rendered by in training: what a text may be written with.

pairs of pieces in the same pair of texts -> how likely each is the other's rendering -> the likeliest of each piece
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from regard.errors import DataError
from regard.files import shown

FILE = "lexicon.safetensors"
# The renderings of each piece, and how many pieces, those that most texts of training have, are offered to every text.
RENDERINGS, COMMON = 30, 200
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
    # How many pieces a target may be written with.
    written: int

    @classmethod
    def learn(cls, pairs: Iterable[tuple[Sequence[int], Sequence[int]]], source: int, target: int) -> "Lexicon":
        """From pairs of texts in pieces: word translation probabilities   (Brown et al. 1993, model 1)."""
        together, group, counts = _together(pairs, source, target)
        if not len(together):
            raise DataError("Training has no pair of texts to learn from what a piece is rendered by.")
        both, which = np.unique(together, return_inverse=True)
        of: ndarray = both // target
        chance: ndarray = np.ones(len(both))
        for _ in range(ROUNDS):
            weights = chance[which]
            chance = np.bincount(which, weights / np.bincount(group, weights)[group])
            chance = chance / np.bincount(of, chance)[of]
        often = np.argsort(-counts, kind="stable")[:COMMON]
        return cls(_likeliest(of, both % target, chance, source), often[counts[often] > 0], target)

    def offered(self, sources: Sequence[Sequence[int]], besides: Sequence[Iterable[int]]) -> Bool[ndarray, "B V"]:
        """Which pieces each source's rendering may be written with; of each there is what is needed `besides`."""
        # The last column stands for no rendering at all.
        offered = np.zeros((len(sources), self.written + 1), bool)
        offered[:, self.common] = True
        read = np.concatenate([np.asarray(source, np.int64) for source in sources])
        row = np.repeat(np.arange(len(sources)), [*map(len, sources)])
        offered[row[:, None], self.renderings[read]] = True
        for number, pieces in enumerate(besides):
            offered[number, [*pieces]] = True
        return offered[:, : self.written]

    def knows(self, source: Sequence[int]) -> bool:
        """Whether the texts it was learned from have every piece of this one."""
        return bool((self.renderings[np.asarray(source, np.int64), 0] != NONE).all())

    @property
    def share(self) -> float:
        """How many of a source's pieces the texts it was learned from have."""
        return float((self.renderings[:, 0] != NONE).mean())

    def save(self, folder: Path) -> None:
        numbers = {"renderings": self.renderings, "common": self.common, "written": np.array(self.written)}
        # As bytes, so that the file may be read by whoever may read the others.
        (folder / FILE).write_bytes(save({name: each.astype(np.int32) for name, each in numbers.items()}))

    @classmethod
    def load(cls, folder: Path) -> "Lexicon":
        try:
            known = {name: each.astype(np.int64) for name, each in load_file(folder / FILE).items()}
            found = cls(known["renderings"], known["common"], int(known["written"]))
        except (OSError, SafetensorError, KeyError, TypeError):
            found = None
        if found is None or not found.sound:
            raise DataError(f"{shown(folder / FILE)} is damaged; export the bundle again.")
        return found

    @property
    def sound(self) -> bool:
        """Whether every number in it is that of a piece."""
        shapes = self.renderings.ndim == 2 and self.renderings.size > 0 and self.common.ndim == 1
        known = ((NONE, self.renderings), (0, self.common))
        return shapes and all(bool(((least <= each) & (each < self.written)).all()) for least, each in known)


def _together(
    pairs: Iterable[tuple[Sequence[int], Sequence[int]]], source: int, target: int
) -> tuple[Int[ndarray, " P"], Int[ndarray, " P"], Int[ndarray, " V"]]:
    """Every piece in a pair's source beside every one in its target, as one number; to which piece of which target that
    belongs; and how often each piece is written. Each source has one piece more, for what renders nothing."""
    found: list[ndarray] = [np.empty(0, np.int64)]
    groups: list[ndarray] = [np.empty(0, np.int32)]
    counts, known, targets = np.zeros(target, np.int64), 0, 0
    for one, other in pairs:
        read, written = np.append(np.unique(np.asarray(one, np.int64)), source), np.unique(np.asarray(other, np.int64))
        known += len(read) * len(written)
        if known > PAIRS:
            break
        counts[written] += 1
        found.append((read[:, None] * target + written).ravel())
        groups.append(np.tile(np.arange(targets, targets + len(written), dtype=np.int32), len(read)))
        targets += len(written)
    return np.concatenate(found), np.concatenate(groups), counts


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
