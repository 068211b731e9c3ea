"""What a metric is: numbers per line that can be added up, and a value made from their sum.

Because a line's numbers do not depend on other lines, a corpus, a single line and a thousand resampled corpora are all
scored from one pass over the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

# For every line the texts that are right.
References = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Score:
    """A number and how it was made; rates and scores run from 0 to 100."""

    name: str
    value: float
    signature: str
    higher_is_better: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} ({self.signature})"


class Metric:
    """Outputs against references. Settings are the keyword-only parameters of the constructor."""

    name: ClassVar[str]
    higher_is_better: ClassVar[bool] = True

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        """For every line the numbers whose sums decide."""
        raise NotImplementedError

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        """The value of a corpus whose statistics add up to this."""
        raise NotImplementedError

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


def own_signature(references: References, **parts: str) -> str:
    """The signature of a metric that is computed here, in the style of sacreBLEU."""
    count = reference_count(references)
    return "|".join(
        f"{key}:{value}" for key, value in {"nrefs": count or "var", **parts, "version": "regard.1"}.items()
    )
