"""What a metric is: numbers per line that can be added up, and a value made from their sum.

Because a line's numbers do not depend on other lines, a corpus, a single line and a thousand resampled corpora are all
scored from one pass over the text. What the columns stand for may depend on all that is given (a column per label).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float

from regard.errors import DataError

# For every line the texts that are right.
References = Sequence[Sequence[str]]
# For every output one reference, or several of which the best counts.
Given = Sequence[str | Sequence[str]]


@dataclass(frozen=True)
class Score:
    """A number and how it was made; rates and shares run from 0 to 100, what is of a likelihood as far as it likes."""

    name: str
    value: float
    signature: str
    higher_is_better: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} ({self.signature})"


class Metric:
    """Outputs against references. Settings are the keyword-only parameters of the constructor.

    `of` says what the outputs are: texts, or for each line how likely the model finds it (`Likelihood`). `reads` says
    what the texts are: any, or tags between spaces. `addable` is false for what is of all outputs together only.
    """

    name: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    of: ClassVar[Literal["texts", "likelihood"]] = "texts"
    reads: ClassVar[Literal["text", "tags"]] = "text"
    addable: ClassVar[bool] = True

    # Outputs are `Sequence[str]` or `Sequence[Likelihood]`; a subclass takes the one its `of` says.
    def statistics(self, outputs: Sequence[Any], references: References) -> Float[np.ndarray, "lines columns"]:
        """For every line the numbers whose sums decide."""
        raise NotImplementedError

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        """The value of a corpus whose statistics add up to this."""
        raise NotImplementedError

    def value_of(self, outputs: Sequence[Any], references: References) -> float:
        """The value of all outputs together."""
        return self.value(self.statistics(outputs, references).sum(axis=0))

    def line_value(self, row: Float[np.ndarray, " columns"]) -> float:
        """The value of one line alone."""
        return self.value(row)

    def signature(self, references: References) -> str:
        """What someone else needs to know to get the same number."""
        raise NotImplementedError


def reference_count(references: References) -> int | None:
    """How many references every line has; None if that varies."""
    counts = {len(allowed) for allowed in references}
    return counts.pop() if len(counts) == 1 else None


def own_signature(references: References, *, version: str = "regard.1", **parts: str) -> str:
    """The signature of a metric that looks at references, in the style of sacreBLEU."""
    return stated(nrefs=str(reference_count(references) or "var"), **parts, version=version)


def stated(**parts: str) -> str:
    """The parts of a signature, in this order.

    >>> stated(unit="word", version="regard.1")
    'unit:word|version:regard.1'
    """
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def f1(right: int | float, said: int | float, wanted: int | float) -> float:
    """The harmonic mean of right / said and right / wanted, from 0 to 100; 0 where nothing was said or wanted.

    >>> f1(1, 2, 1) == 100 * 2 / 3
    True
    """
    return 100 * 2 * right / (said + wanted) if said + wanted else 0.0


def paired(outputs: Sequence[Any], references: Given) -> list[Sequence[str]]:
    """The references of every output, or why they cannot be scored."""
    if len(outputs) != len(references):
        raise DataError(f"{len(outputs)} outputs but references for {len(references)}; every output needs its own.")
    if not outputs:
        raise DataError("There is nothing to score: no outputs and no references.")
    allowed = [[reference] if isinstance(reference, str) else reference for reference in references]
    for number, line in enumerate(allowed, 1):
        if not line:
            raise DataError(f"Output {number} has no reference; give at least one.")
    return allowed
