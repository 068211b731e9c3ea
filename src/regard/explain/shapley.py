"""Shapley values: what each group adds, averaged over all orders in which groups can come   (Shapley 1953)."""

from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import PositiveInt

from regard.errors import RequestError
from regard.explain.attribution import Attribution
from regard.explain.budget import DrawSettings, Progress, rounds, student
from regard.explain.groups import PerturbationSettings
from regard.explain.subject import Subject
from regard.explain.versions import Versions, rounding, subsets

CAVEAT = (
    "Shapley values share F(x) - F(nothing) out among the words over texts that mostly make no sense; what words do "
    "only together is split evenly, and the interval tells sampling error only."
)
EXACT = 10
# Pairs of orders, so that there is a spread to tell an error from.
LEAST = 5


class ShapleySettings(PerturbationSettings, DrawSettings):
    """`samples` is how many pairs of orders are drawn; `exact` goes through every subset instead."""

    samples: PositiveInt = 100
    exact: bool = False

    def cost(self, groups: int) -> int:
        """How many versions are scored at most."""
        return 1 << groups if self.exact else 2 + 2 * (groups - 1) * max(self.samples, LEAST)


def shapley(subject: Subject, settings: ShapleySettings, progress: Progress | None = None) -> Attribution:
    """The share of F(x) - F(nothing) that is each group's, for each output."""
    versions = Versions(subject, settings)
    if settings.exact:
        values_OG, error_OG, draws = _exact(versions), None, "all subsets"
    else:
        values_OG, error_OG, pairs = _sampled(versions, settings, progress)
        draws = f"{pairs} pairs of orders, seed {settings.seed}"
    return Attribution(
        method="shapley",
        outputs=subject.outputs,
        inputs=versions.groups.axis,
        weights=versions.groups.spread(values_OG),
        signed=True,
        error=None if error_OG is None else versions.groups.spread(error_OG),
        source=f"{settings.said}; {draws}",
        check={"efficiency": _missing(versions, values_OG)},
        caveat=CAVEAT,
    )


def _missing(versions: Versions, values: Float[np.ndarray, "O G"]) -> float:
    """How far the sum of the values is from F(x) - F(nothing), at most, as a share of it or of 1."""
    whole_O = versions.whole() - versions.empty()
    return float((np.abs(values.sum(axis=1) - whole_O) / np.maximum(np.abs(whole_O), 1)).max())


def _sampled(
    versions: Versions, settings: ShapleySettings, progress: Progress | None
) -> tuple[Float[np.ndarray, "O G"], Float[np.ndarray, "O G"], int]:
    """Means over pairs of an order and its reverse, half their 95 % intervals, and the number of pairs.

    Strumbelj and Kononenko 2014; the pairs of Mitchell et al. 2022, section 4.1; the running variance of Welford 1962.
    """
    random, groups = np.random.default_rng(settings.seed), len(versions.groups)
    ends_2O = np.stack([versions.empty(), versions.whole()])
    count, mean_OG, spread_OG = 0, np.zeros((ends_2O.shape[1], groups)), np.zeros((ends_2O.shape[1], groups))
    for size in rounds(settings, LEAST, max(1, versions.batch // max(1, 2 * (groups - 1))), progress):
        for added_OG in _added(versions, random.random((size, groups)).argsort(axis=1), ends_2O):
            count += 1
            off_OG = added_OG - mean_OG
            mean_OG = mean_OG + off_OG / count
            spread_OG += off_OG * (added_OG - mean_OG)
    error_OG = student(count - 1) * np.sqrt(spread_OG / (count - 1) / count)
    return mean_OG, error_OG + rounding(ends_2O), count


def _added(
    versions: Versions, orders: Int[np.ndarray, "P G"], ends: Float[np.ndarray, "2 O"]
) -> Float[np.ndarray, "P O G"]:
    """What each group adds when it comes, the mean of each order and its reverse."""
    both_2PG = np.stack([orders, orders[:, ::-1]])
    flat_RG = both_2PG.reshape(-1, orders.shape[1])
    inner_RKG = _prefixes(flat_RG)
    rows, steps, groups = inner_RKG.shape
    middle_RKO = np.empty((rows, 0, ends.shape[1]))
    if steps:
        middle_RKO = versions(inner_RKG.reshape(-1, groups)).reshape(rows, steps, -1)
    first_R1O, last_R1O = (np.broadcast_to(end, (rows, 1, len(end))) for end in ends)
    gains_RGO = np.diff(np.concatenate([first_R1O, middle_RKO, last_R1O], axis=1), axis=1)
    added_RGO = np.empty_like(gains_RGO)
    np.put_along_axis(added_RGO, flat_RG[:, :, None], gains_RGO, axis=1)
    return added_RGO.reshape(2, -1, groups, ends.shape[1]).mean(axis=0).transpose(0, 2, 1)


def _prefixes(orders: Int[np.ndarray, "R G"]) -> Bool[np.ndarray, "R K G"]:
    """What is there after 1, 2, ... G-1 groups of each order have come."""
    ranks_RG = orders.argsort(axis=1)
    return ranks_RG[:, None, :] < np.arange(1, orders.shape[1])[None, :, None]


def _exact(versions: Versions) -> Float[np.ndarray, "O G"]:
    """The sum over subsets S without g of (F(S + g) - F(S)) / (G comb(G - 1, |S|))."""
    groups = len(versions.groups)
    if groups > EXACT:
        raise RequestError(
            f"{groups} {versions.settings.of} have {groups} x 2^{groups - 1} subsets to go through, which is done for "
            f"up to {EXACT}; leave exact off, or take larger spans."
        )
    subsets_NG = subsets(groups)
    scores_NO, numbers_N = versions(subsets_NG), np.arange(len(subsets_NG))
    share_K = np.array([1 / (groups * comb(groups - 1, size)) for size in range(groups)])
    values = []
    for group in range(groups):
        before_M = numbers_N[~subsets_NG[:, group]]
        gains_MO = scores_NO[before_M + (1 << group)] - scores_NO[before_M]
        values.append(share_K[subsets_NG[before_M].sum(axis=1)] @ gains_MO)
    return np.stack(values, axis=1)
