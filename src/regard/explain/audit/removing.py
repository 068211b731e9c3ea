"""What words are worth in the order of their weights: taken away, or left alone   (DeYoung et al. 2020)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from regard.explain.audit.settings import AuditSettings
from regard.explain.versions import Versions

RANDOM, REVERSED = "random", "reversed"


@dataclass(frozen=True)
class Removal:
    """What an order's first words are worth, the mean over shares of the words.

    comprehensiveness: how far p falls without them. sufficiency: how far it falls with nothing but them.
    """

    comprehensiveness: float
    sufficiency: float


def removals(
    versions: Versions, weights: Mapping[str, Float[np.ndarray, " G"]], judged: str, settings: AuditSettings, seed: int
) -> dict[str, Removal]:
    """Each way to weigh the words, the judged one reversed, and the mean of random orders; all scored at once."""
    random = np.random.default_rng([seed, 2])
    orders = {name: _order(values, random) for name, values in weights.items()}
    orders[REVERSED] = orders[judged][::-1]
    chance = [random.permutation(len(versions.groups)) for _ in range(settings.randoms)]
    found = _scored(versions, [*orders.values(), *chance], settings.shares)
    means = [Removal(*(float(part) for part in row)) for row in found[: len(orders)]]
    by_chance = Removal(*(float(part) for part in found[len(orders) :].mean(0)))
    return dict(zip(orders, means, strict=True)) | {RANDOM: by_chance}


def _order(weights: Float[np.ndarray, " G"], random: np.random.Generator) -> Int[np.ndarray, " G"]:
    """From the highest weight to the lowest; where weights are equal, chance decides and not the place."""
    return np.lexsort((random.random(len(weights)), -weights))


def _scored(
    versions: Versions, orders: list[Int[np.ndarray, " G"]], shares: tuple[float, ...]
) -> Float[np.ndarray, "orders 2"]:
    """Comprehensiveness and sufficiency of each order."""
    kept = np.stack([_kept(order, shares) for order in orders])
    falls_N = np.exp(versions.whole()[0]) - np.exp(versions(kept.reshape(-1, len(versions.groups)))[:, 0])
    return falls_N.reshape(len(orders), 2, len(shares)).mean(-1)


def _kept(order: Int[np.ndarray, " G"], shares: tuple[float, ...]) -> Bool[np.ndarray, "N G"]:
    """All but the first words of the order, then the first words alone."""
    rank_G = order.argsort()
    counts = np.array([max(1, round(share * len(order))) for share in shares])
    first_NG = rank_G < counts[:, None]
    return np.concatenate([~first_NG, first_NG])
