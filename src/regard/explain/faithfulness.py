"""Whether what an explanation calls important is what the model needs: the input taken apart in order of weight."""

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field, NonNegativeInt, PositiveInt

from regard.errors import RequestError
from regard.explain.bounds import Bounds, Drops, bounds
from regard.explain.contrast import One
from regard.explain.groups import PerturbationSettings
from regard.explain.subject import Subject
from regard.explain.versions import Versions

CAVEAT = (
    "Faithfulness is measured on texts with words missing, which the model may never have learned to read; figures of "
    "different models or texts may be compared only where they are normalized."
)


class FaithfulnessSettings(PerturbationSettings):
    """How much is taken away, against how many random orders, and how hard the best and worst order is looked for."""

    # Of the groups, as in DeYoung et al. 2020.
    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...] = (0.01, 0.05, 0.1, 0.2, 0.5)
    scale: Literal["probability", "log"] = "probability"
    randoms: PositiveInt = 10
    seed: NonNegativeInt = 0
    # Up to so many groups the bounds are exact; for more they are looked for with so many beams.
    exact: NonNegativeInt = 8
    beams: PositiveInt = 5

    def cost(self, groups: int, bounded: bool = True) -> int:
        """How many versions are scored at most."""
        curves = 2 * (1 + self.randoms) * (groups + 1) + 1
        if not bounded:
            return curves
        return curves + (1 << groups if groups <= self.exact else self.beams * groups * (groups + 1))


@dataclass(frozen=True)
class Figures:
    """Of one order: what its first groups are worth at each share, what they do alone, and the area over its curve.

    High comprehensiveness and AOPC and low sufficiency speak for an order.
    """

    comprehensiveness: tuple[float, ...]
    sufficiency: tuple[float, ...]
    aopc: float
    # (aopc - worst) / (best - worst); None where every order does the same, or bounds were not looked for.
    normalized: float | None = None


@dataclass(frozen=True)
class Faithfulness:
    """An order's figures beside those of the reversed order, of random ones (their mean), and of the bounds."""

    shares: tuple[float, ...]
    given: Figures
    reverse: Figures
    random: Figures
    lowest: float | None = None
    highest: float | None = None
    exact: bool = False

    def plain(self) -> dict[str, object]:
        """All of it as JSON has it."""
        return asdict(self)


def faithfulness(
    subject: Subject,
    weights: Float[np.ndarray, " I"],
    settings: FaithfulnessSettings,
    output: int = 0,
    bounded: bool = True,
) -> Faithfulness:
    """How faithful weights are for one output; they are of the units that the settings take away, special ones too."""
    drops = Drops(Versions(One(subject, output), settings), settings.scale)
    order_G, random = _order(drops, weights, settings.seed), np.random.default_rng([settings.seed, 1])
    ahead, back = _both(drops, order_G)
    chance = [_both(drops, random.permutation(len(order_G))) for _ in range(settings.randoms)]
    curves = [(ahead, back), (back, ahead), *chance]
    found = _widened(bounds(drops, settings.exact, settings.beams), curves) if bounded else None
    given, reverse, *others = (figures(*both, settings.shares, found) for both in curves)
    ends = (found.lowest, found.highest, found.exact) if found else (None, None, False)
    return Faithfulness(settings.shares, given, reverse, _mean(others), *ends)


def curve(drops: Drops, order: Int[np.ndarray, " G"]) -> Float[np.ndarray, " K"]:
    """F(x) - F(x without the first k of the order), for k = 0 to all of them."""
    rank_G = order.argsort()
    return drops(rank_G[None, :] >= np.arange(len(order) + 1)[:, None])


def figures(
    first: Float[np.ndarray, " K"],
    last: Float[np.ndarray, " K"],
    shares: tuple[float, ...],
    within: Bounds | None = None,
) -> Figures:
    """The figures of an order from its curve and that of its reverse   (DeYoung et al. 2020; Samek et al. 2017).

    What is left when the last of the order are gone are its first, so sufficiency is read off the reverse's curve.
    Normalized as in Edin et al. 2025.
    """
    groups = len(first) - 1
    counts = [max(1, round(share * groups)) for share in shares]
    aopc = float(first[1:].mean())
    return Figures(
        comprehensiveness=tuple(float(first[count]) for count in counts),
        sufficiency=tuple(float(last[groups - count]) for count in counts),
        aopc=aopc,
        normalized=None if within is None else within.normalized(aopc),
    )


def _order(drops: Drops, weights: Float[np.ndarray, " I"], seed: int) -> Int[np.ndarray, " G"]:
    """The groups from the highest weight to the lowest; where weights are equal, chance decides and not the place."""
    groups = drops.versions.groups
    if len(weights) != len(groups.axis):
        raise RequestError(
            f"{len(weights)} weights for an input of {len(groups.axis)} {drops.versions.settings.of} (special ones "
            "counted), so it is not clear what each is of; give weights of what the setting `of` takes away."
        )
    weights_G = weights[groups.places]
    return np.lexsort((np.random.default_rng(seed).random(len(groups)), -weights_G))


def _both(drops: Drops, order: Int[np.ndarray, " G"]) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    return curve(drops, order), curve(drops, order[::-1])


def _widened(found: Bounds, curves: list[tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]]) -> Bounds:
    """Bounds that a search may have missed, made to hold what was seen."""
    seen = [float(one[1:].mean()) for both in curves for one in both]
    return Bounds(min(found.lowest, *seen), max(found.highest, *seen), found.exact)


def _mean(all_of: list[Figures]) -> Figures:
    normalized = [one.normalized for one in all_of if one.normalized is not None]
    return Figures(
        tuple(np.mean([one.comprehensiveness for one in all_of], axis=0).tolist()),
        tuple(np.mean([one.sufficiency for one in all_of], axis=0).tolist()),
        float(np.mean([one.aopc for one in all_of])),
        float(np.mean(normalized)) if normalized else None,
    )
