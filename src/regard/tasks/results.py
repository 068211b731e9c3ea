"""What comes of an input: the text, how it ended, how sure each piece is, and what it was made from."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import eq
from typing import Any, Literal

from regard.decode import Hypothesis

# complete: ended by itself; limit: stopped at the length limit; split: made in parts; looped: it repeats itself;
# copied: it is its source; empty: there was nothing to do; refused: it was too long, and was not to be split.
# windows: read in overlapping windows; head, tail: only that part of it was read; no answer: there is none.
Status = Literal[
    "complete", "limit", "split", "looped", "copied", "empty", "refused", "windows", "head", "tail", "no answer"
]


@dataclass(frozen=True)
class Written:
    """One output with the score that ranked it, its pieces and the probability of each."""

    text: str
    score: float
    pieces: tuple[str, ...]
    probabilities: tuple[float, ...]
    ids: tuple[int, ...] = ()


def status(hypothesis: Hypothesis, source: str, text: str) -> tuple[Status, ...]:
    """How an output ended, and what is suspicious about it."""
    found: list[Status] = ["complete" if hypothesis.complete else "limit"]
    if looped(hypothesis.pieces):
        found.append("looped")
    if text and text.casefold() == source.strip().casefold():
        found.append("copied")
    return tuple(found)


def looped(pieces: Sequence[int]) -> bool:
    """Whether somewhere a stretch stands four times in a row, or three times one of at least three pieces.

    >>> looped([5, 6, 7, 7, 7, 7]), looped([5, 6, 5, 6, 5, 6]), looped([1, 2, 3] * 3)
    (True, False, True)
    """
    # Whatever stands three times leaves twice its length of pieces that were there before.
    again = len(pieces) - len(set(pieces))
    return again >= 3 and any(_repeats(pieces, period, 3 if period >= 3 else 4) for period in range(1, again // 2 + 1))


def _repeats(pieces: Sequence[int], period: int, times: int) -> bool:
    """Whether a stretch of `period` pieces stands so many times in a row."""
    same, wanted = [*map(eq, pieces, pieces[period:])], period * (times - 1)
    # Nearly always there are too few, wherever they stand.
    return sum(same) >= wanted and any(all(same[at : at + wanted]) for at in range(len(same) - wanted + 1))


def plain(result: Any) -> dict[str, Any]:
    """A result as JSON has it; what was not asked for is left out."""
    return {name: value for name, value in asdict(result).items() if value is not None}
