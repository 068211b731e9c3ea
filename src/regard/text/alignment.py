"""Which word of the source a word of the target came from, read off attention weights.

The weight of a target word on a source word is the sum over the pieces of the source word, averaged over the pieces of
the target word. Columns and rows that belong to no word are left out: give weights whose first column is the first
piece of the source, and the column of the end piece is passed over, for what it draws says nothing about words.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from regard.errors import DataError
from regard.text.encoded import Span
from regard.text.spans import Word

Pair = tuple[int, int]
Way = Literal["target", "source", "intersection", "union"]

_PAIR = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


class Link(NamedTuple):
    """A word of the source and a word of the target by their spans, and the weight between them."""

    source: Span
    target: Span
    weight: float


def word_weights(
    weights: Float[np.ndarray, "T S"], source: Sequence[Word], target: Sequence[Word]
) -> Float[np.ndarray, "target_words source_words"]:
    """The weight of every target word on every source word; zero for words without pieces."""
    _require_room(weights.shape, source, target)
    grid = np.zeros((len(target), len(source)))
    for row, word in enumerate(target):
        if word.pieces:
            mean_S = weights[list(word.pieces)].mean(0, dtype=np.float64)
            grid[row] = [mean_S[list(other.pieces)].sum() for other in source]
    return grid


def _by_target(grid: Float[np.ndarray, "t s"]) -> Bool[np.ndarray, "t s"]:
    # argmax takes the first of equals: ties go to the left.
    return (np.arange(grid.shape[1]) == grid.argmax(1)[:, None]) & (grid > 0)


def _by_source(grid: Float[np.ndarray, "t s"]) -> Bool[np.ndarray, "t s"]:
    return _by_target(grid.T).T


WAYS: dict[Way, Callable[[Float[np.ndarray, "t s"]], Bool[np.ndarray, "t s"]]] = {
    "target": _by_target,
    "source": _by_source,
    "intersection": lambda grid: _by_target(grid) & _by_source(grid),
    "union": lambda grid: _by_target(grid) | _by_source(grid),
}


def links(
    weights: Float[np.ndarray, "T S"], source: Sequence[Word], target: Sequence[Word], way: Way = "target"
) -> list[Link]:
    """Links between words, in the order of the target.

    By `target`, every target word is linked to the source word it has most weight on, the leftmost of equals, or to
    none if it has none; by `source`, the other way round; `intersection` and `union` are of both.
    """
    grid = word_weights(weights, source, target)
    if not grid.size:
        return []
    return [
        Link(source[column].span, target[row].span, float(grid[row, column]))
        for row, column in np.argwhere(WAYS[way](grid)).tolist()
    ]


def pairs(found: Iterable[Link], source: Sequence[Word], target: Sequence[Word]) -> list[Pair]:
    """Links as numbers of the words in which they begin, counted from 0: (source, target), in order."""
    sources, targets = ([word.span[0] for word in words] for words in (source, target))
    return sorted({(_number(sources, link.source), _number(targets, link.target)) for link in found})


def _number(starts: Sequence[int], span: Span) -> int:
    return max(bisect_right(starts, span[0]) - 1, 0)


def pharaoh(found: Iterable[Link], source: Sequence[Word], target: Sequence[Word]) -> str:
    """Links as one line of word numbers, source first: "0-0 1-2"."""
    return " ".join(f"{one}-{other}" for one, other in pairs(found, source, target))


def read_pharaoh(line: str, place: str = "The alignment") -> list[Pair]:
    """The pairs `pharaoh` wrote; `place` names the line in errors."""
    found = [(entry, _PAIR.fullmatch(entry)) for entry in line.split()]
    for entry, match in found:
        if match is None:
            raise DataError(f"{place}: {entry!r} is no pair of word numbers; write source-target, like 0-0 1-2.")
    return [(int(match[1]), int(match[2])) for _, match in found if match]


def aer(found: Set[Pair], sure: Set[Pair], possible: Set[Pair] = frozenset()) -> float:
    """1 - (|A & S| + |A & P|) / (|A| + |S|), where sure pairs are possible too   (Och and Ney 2003).

    >>> aer({(0, 0), (1, 1)}, sure={(0, 0)}, possible={(1, 1)})
    0.0
    """
    total = len(found) + len(sure)
    return 1 - (len(found & sure) + len(found & (sure | possible))) / total if total else 0.0


def _require_room(shape: tuple[int, ...], source: Sequence[Word], target: Sequence[Word]) -> None:
    for side, size, found in (("target", shape[0], target), ("source", shape[1], source)):
        last = max((max(word.pieces, default=-1) for word in found), default=-1)
        if last >= size:
            raise DataError(f"The weights are for {size} {side} pieces, but its words have {last + 1}.")
