"""Figures of many texts as one: their mean and how sure it is, and how alike two orders are."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regard.explain.budget import student


@dataclass(frozen=True)
class Mean:
    """A mean over texts and half the width of its 95 % interval, which one text alone does not have."""

    value: float
    error: float | None
    texts: int

    @property
    def lowest(self) -> float:
        return self.value - (np.inf if self.error is None else self.error)

    @property
    def highest(self) -> float:
        return self.value + (np.inf if self.error is None else self.error)

    def __str__(self) -> str:
        return shown(self.value) + ("" if self.error is None else f" ± {self.error:.3f}")


def shown(value: float) -> str:
    """Three decimals, and no sign before nothing.

    >>> shown(-0.0001), shown(-0.25)
    ('0.000', '-0.250')
    """
    return f"{round(value, 3) + 0.0:.3f}"


def mean(values: Iterable[float | None]) -> Mean | None:
    """The mean of the texts that have the figure; None where none has."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(known):
        return None
    error = student(len(known) - 1) * known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else None
    return Mean(float(known.mean()), None if error is None else float(error), len(known))


def rank_correlation(one: Float[np.ndarray, " I"], other: Float[np.ndarray, " I"]) -> float | None:
    """Spearman's: the correlation of ranks, ties sharing theirs; None where one side has a single rank.

    >>> rank_correlation(np.array([0.1, 0.5, 0.4]), np.array([1.0, 3.0, 2.0]))
    1.0
    """
    if len(one) < 2:
        return None
    ranks = [ranked(values) - (len(values) - 1) / 2 for values in (one, other)]
    sizes = [float((rank**2).sum()) for rank in ranks]
    if not all(sizes):
        return None
    return float((ranks[0] * ranks[1]).sum() / np.sqrt(sizes[0] * sizes[1]))


def ranked(values: Float[np.ndarray, " I"]) -> Float[np.ndarray, " I"]:
    """Ranks from 0, the mean of them where values are equal."""
    _, group_I, count_G = np.unique(values, return_inverse=True, return_counts=True)
    last_G = count_G.cumsum() - 1
    return (last_G - (count_G - 1) / 2)[group_I]
