"""How much of what is said is said once only."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from regard.errors import ConfigError
from regard.metrics.metric import Metric, References, stated
from regard.metrics.summaries import Cut, characters


class Distinct(Metric):
    """distinct-n: different n-grams per n-gram over all outputs (Li et al. 2016), from 0 to 100; no reference is read.

    It has no numbers per line: what one line repeats of another belongs to neither. Nor can lines be drawn again to
    compare two systems: a line drawn twice repeats itself, which lowers the value by the drawing alone.
    """

    addable = False
    order: ClassVar[int]

    def __init__(self, *, tokenizer: Cut = "words") -> None:
        self.tokenizer = tokenizer

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        raise ConfigError(
            f"{self.name} is of all outputs together: it has no value per line, and two systems cannot be compared by "
            "drawing lines again. Use score() on each, or compare by another metric."
        )

    def value_of(self, outputs: Sequence[str], references: References) -> float:
        grams = [gram for output in outputs for gram in self._grams(output)]
        return 100 * len(set(grams)) / len(grams) if grams else 0.0

    def signature(self, references: References) -> str:
        return stated(order=str(self.order), tok=self.tokenizer, case="mixed", version="regard.1")

    def _grams(self, text: str) -> list[tuple[str, ...]]:
        units = text.split() if self.tokenizer == "words" else characters(text)
        return list(zip(*(units[start:] for start in range(self.order)), strict=False))


class Distinct1(Distinct):
    """Distinct-1: different words per word."""

    name = "distinct_1"
    order = 1


class Distinct2(Distinct):
    """Distinct-2: different pairs of neighbouring words per pair."""

    name = "distinct_2"
    order = 2
