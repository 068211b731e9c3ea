"""Shares of lines that are right, and edits per unit of those that should have been."""

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Float

from regard.metrics.metric import Metric, References, own_signature


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The fewest insertions, deletions and substitutions that make one sequence the other.

    One column of the table at a time, kept as the bits of two numbers: where it goes up, and where it goes down
    (Myers 1999, in the form of Hyyrö 2003).

    >>> edit_distance("kitten", "sitting")
    3
    """
    if not first:
        return len(second)
    places: defaultdict[Hashable, int] = defaultdict(int)
    for place, unit in enumerate(first):
        places[unit] |= 1 << place
    every, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    up, down, distance = every, 0, len(first)
    for unit in second:
        match = places.get(unit, 0)
        level = (((match & up) + up) ^ up) | match | down
        rise = down | ~(level | up) & every
        fall = up & level
        distance += bool(rise & last) - bool(fall & last)
        rise = (rise << 1 | 1) & every
        up = (fall << 1) & every | ~(level | rise) & every
        down = rise & level
    return distance


class Exact(Metric):
    """The share of lines equal to one of their references."""

    name = "exact"

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        rows = [(output in allowed, 1) for output, allowed in zip(outputs, references, strict=True)]
        return np.array(rows, dtype=np.float64)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return float(100 * totals[0] / totals[1])

    def signature(self, references: References) -> str:
        return own_signature(references, unit="line", reference="any")


class LineError(Exact):
    """The share of lines equal to none of their references; what spelling-to-sound papers call word error."""

    name = "line_error"
    higher_is_better = False

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return 100 - super().value(totals)


class EditRate(Metric):
    """Edits per unit of the nearest reference: the one with the fewest edits, and of several such the longest."""

    higher_is_better = False
    unit: str

    def units(self, text: str) -> Sequence[str]:
        return text.split()

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        rows = [self._nearest(output, allowed) for output, allowed in zip(outputs, references, strict=True)]
        return np.array(rows, dtype=np.float64)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        # Where nothing should have been said, anything said is wholly wrong.
        return float(100 * totals[0] / totals[1]) if totals[1] else 100.0 * bool(totals[0])

    def signature(self, references: References) -> str:
        return own_signature(references, unit=self.unit, reference="nearest")

    def _nearest(self, output: str, allowed: Sequence[str]) -> tuple[int, int]:
        said = self.units(output)
        right = [self.units(reference) for reference in allowed]
        return min(((edit_distance(said, units), len(units)) for units in right), key=lambda pair: (pair[0], -pair[1]))


class WordError(EditRate):
    """Edits per word, words being what stands between spaces."""

    name = "word_error"
    unit = "word"


class PhonemeError(EditRate):
    """Edits per phoneme, written with spaces between."""

    name = "phoneme_error"
    unit = "phoneme"


class CharacterError(EditRate):
    """Edits per character."""

    name = "character_error"
    unit = "character"

    def units(self, text: str) -> Sequence[str]:
        return text
