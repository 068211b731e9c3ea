"""The best and the worst order in which an input can be taken apart   (Edin et al. 2025)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from regard.explain.versions import Versions, subsets

# Below this the best and the worst order are the same but for rounding.
FLAT = 1e-9


@dataclass(frozen=True)
class Bounds:
    """The lowest and the highest AOPC an order can have, exactly or as a search found them."""

    lowest: float
    highest: float
    exact: bool

    def normalized(self, aopc: float) -> float | None:
        """0 for the worst order, 1 for the best; None where all do the same."""
        width = self.highest - self.lowest
        return (aopc - self.lowest) / width if width > FLAT else None


@dataclass(frozen=True)
class Drops:
    """F(x) - F(kept) of the one output of a subject, in probability or log-probability."""

    versions: Versions
    scale: Literal["probability", "log"]

    def __call__(self, kept: Bool[np.ndarray, "N G"]) -> Float[np.ndarray, " N"]:
        return self._whole - self._scaled(self.versions(kept)[:, 0])

    @cached_property
    def _whole(self) -> float:
        return float(self._scaled(self.versions.whole())[0])

    def _scaled(self, scores: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
        return np.exp(scores) if self.scale == "probability" else scores


def bounds(drops: Drops, exact: int, beams: int) -> Bounds:
    """The mean drop along the worst and along the best order: of all orders for up to `exact` groups, or searched."""
    groups = len(drops.versions.groups)
    if groups <= exact:
        lowest, highest = (sign * _best_of_all(drops, sign) for sign in (-1, 1))
    else:
        lowest, highest = (sign * _best_found(drops, sign, beams) for sign in (-1, 1))
    return Bounds(lowest / groups, highest / groups, groups <= exact)


def _best_of_all(drops: Drops, sign: int) -> float:
    """The highest sum of sign x drop from everything to nothing.

    A drop depends on what is gone and not on the order it went in, so the best way to each subset is one step from the
    best way to a subset one larger: 2^G versions and not G! orders.
    """
    groups = len(drops.versions.groups)
    gain_N, best_N = sign * drops(subsets(groups)), np.zeros(1 << groups)
    for subset in range((1 << groups) - 2, -1, -1):
        before = [subset | 1 << group for group in range(groups) if not subset >> group & 1]
        best_N[subset] = gain_N[subset] + best_N[before].max()
    return float(best_N[0])


def _best_found(drops: Drops, sign: int, beams: int) -> float:
    """The same, of the `beams` best ways to each size."""
    groups = len(drops.versions.groups)
    kept_BG, sum_B = np.ones((1, groups), dtype=bool), np.zeros(1)
    for _ in range(groups):
        beam_N, group_N = np.nonzero(kept_BG)
        next_NG = kept_BG[beam_N]
        next_NG[np.arange(len(next_NG)), group_N] = False
        sum_N = sum_B[beam_N] + sign * drops(next_NG)
        # Of two ways to one subset the better is enough; the first of each comes from the better one.
        order_N = (-sum_N).argsort(kind="stable")
        _, first = np.unique(next_NG[order_N], axis=0, return_index=True)
        chosen = order_N[np.sort(first)[:beams]]
        kept_BG, sum_B = next_NG[chosen], sum_N[chosen]
    return float(sum_B[0])
