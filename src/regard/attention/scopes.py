"""How far attention reaches: which keys are in view, and how view shapes the weights.

A scope may narrow the mask (`band`, `restrict`), multiply the normalized weights (`factor`), or normalize in its own
way (`normalize`). `total` says what a living row of weights sums to.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.initialization import matrix
from regard.attention.masks import FREE, Mask, window
from regard.attention.memory import History
from regard.attention.normalizers import Allowed, Normalizer
from regard.attention.places import Place, Sizes
from regard.attention.products import by_head
from regard.errors import ConfigError


class Scope(nn.Module):
    """Global attention: every allowed key is in view   (Bahdanau et al. 2015)."""

    recurrent = False
    # Whether rows are normalized by the normalizer alone, so that kernels may work block by block.
    plain = True
    total: Literal["one", "at most one"] = "one"
    # Whether it goes by the number of keys, so that a memory cannot be taken in parts.
    counts = False

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()

    def band(self) -> Mask:
        """The mask of a scope that is a fixed band of positions."""
        return FREE

    def restrict(self, query: Float[Tensor, "B H Q E"], place: Place) -> Bool[Tensor, "B H Q K"] | None:
        """What the query itself puts out of view."""
        return None

    def factor(self, query: Float[Tensor, "B H Q E"], place: Place) -> Float[Tensor, "B H Q K"] | None:
        """What normalized weights are multiplied with."""
        return None

    def normalize(
        self, scores: Float[Tensor, "B H Q K"], allowed: Allowed, normalizer: Normalizer, history: History | None
    ) -> Float[Tensor, "B H Q K"]:
        weights: Tensor = normalizer(scores, allowed)
        return weights


class Window(Scope):
    """A sliding window: at most `before` positions back and `after` ahead   (Beltagy et al. 2020)."""

    def __init__(self, sizes: Sizes, *, before: int | None = 64, after: int | None = 64) -> None:
        super().__init__(sizes)
        self._band = window(before, after)

    def band(self) -> Mask:
        return self._band


class LocalM(Window):
    """Local-m: `radius` positions around p = t, the query's own step   (Luong et al. 2015, 3.2)."""

    def __init__(self, sizes: Sizes, *, radius: int = 10) -> None:
        super().__init__(sizes, before=_radius(radius), after=radius)


class LocalP(Scope):
    """Local-p: p = S sigmoid(v . tanh(W q)), weights times exp(-2 ((s - p) / D)^2)   (Luong et al. 2015, 3.2).

    S is the number of real keys; the Gaussian's deviation is half the radius D, and nothing beyond D is in view.
    """

    total = "at most one"
    counts = True

    def __init__(self, sizes: Sizes, *, radius: int = 10, hidden: PositiveInt | None = None) -> None:
        super().__init__(sizes)
        self.radius = _radius(radius)
        self.inner = matrix(sizes.heads, sizes.query, hidden or sizes.query)
        self.outer = matrix(sizes.heads, hidden or sizes.query, 1)

    def centre(self, query: Float[Tensor, "B H Q E"], place: Place) -> Float[Tensor, "B H Q 1"]:
        """The position the query predicts, between 0 and the number of real keys."""
        share_BHQ1 = torch.sigmoid(by_head(torch.tanh(by_head(query, self.inner)), self.outer))
        if place.lengths is None:
            return share_BHQ1 * place.key_positions.shape[-1]
        return share_BHQ1 * place.lengths[:, None, None, None].to(query.dtype)

    def restrict(self, query: Float[Tensor, "B H Q E"], place: Place) -> Bool[Tensor, "B H Q K"] | None:
        return (self._away(query.detach(), place).abs() <= self.radius).detach()

    def factor(self, query: Float[Tensor, "B H Q E"], place: Place) -> Float[Tensor, "B H Q K"] | None:
        return torch.exp(-2.0 * (self._away(query, place) / self.radius) ** 2)

    def _away(self, query: Float[Tensor, "B H Q E"], place: Place) -> Float[Tensor, "B H Q K"]:
        return place.key_positions[:, None, None, :] - self.centre(query, place)


class Monotonic(Scope):
    """Monotonic alignment: p = sigmoid(score + r), never back   (Raffel et al. 2017).

    In training the expected alignment a_ij = p_ij sum_k<=j a_(i-1)k prod_k<=l<j (1 - p_il); in evaluation the first
    key, from where the last query stopped, with p >= 1/2. A query that stops nowhere attends to nothing.
    """

    recurrent = True
    plain = False
    total = "at most one"

    def __init__(self, sizes: Sizes, *, offset: float = -1.0, noise: float = 0.0) -> None:
        super().__init__(sizes)
        self.offset = nn.Parameter(torch.full((sizes.heads, 1, 1), offset))
        self.noise = noise

    def normalize(
        self, scores: Float[Tensor, "B H Q K"], allowed: Allowed, normalizer: Normalizer, history: History | None
    ) -> Float[Tensor, "B H Q K"]:
        energy_BHQK = scores + self.offset
        before_BHQK = _at_start(scores) if history is None else history.weights
        if not self.training:
            return self._hard(energy_BHQK, allowed, before_BHQK)
        if self.noise:
            energy_BHQK = energy_BHQK + self.noise * torch.randn_like(energy_BHQK)
        return self._expected(energy_BHQK, allowed, before_BHQK)

    def _expected(self, energy: Tensor, allowed: Allowed, before: Tensor) -> Tensor:
        choose_BHQK, pass_BHQK = torch.sigmoid(energy), F.logsigmoid(-energy)
        if allowed is not None:
            choose_BHQK, pass_BHQK = choose_BHQK * allowed, pass_BHQK * allowed
        # Log-probability of walking from k to j without stopping, as a difference that is never above zero.
        passed_BHQK = pass_BHQK.cumsum(-1) - pass_BHQK
        walk_BHQKJ = passed_BHQK[..., None, :] - passed_BHQK[..., :, None]
        ahead_KJ = torch.ones_like(walk_BHQKJ[0, 0, 0], dtype=torch.bool).triu()
        reach_BHQKJ = walk_BHQKJ.masked_fill(~ahead_KJ, -torch.inf).exp()
        return choose_BHQK * (before[..., None, :] @ reach_BHQKJ).squeeze(-2)

    def _hard(self, energy: Tensor, allowed: Allowed, before: Tensor) -> Tensor:
        chosen_BHQK = (energy >= 0) if allowed is None else (energy >= 0) & allowed
        # `before` holds a single one (or none at all): its running sum is one from there on.
        chosen_BHQK = chosen_BHQK & (before.cumsum(-1) > 0.5)
        first_BHQK = chosen_BHQK & (chosen_BHQK.long().cumsum(-1) == 1)
        return first_BHQK.to(energy.dtype)


SCOPES: dict[str, type[Scope]] = {
    "global": Scope,
    "window": Window,
    "local_m": LocalM,
    "local_p": LocalP,
    "monotonic": Monotonic,
}


def _at_start(scores: Tensor) -> Tensor:
    """Before the first query, all of the alignment stands on the first key."""
    start_BHQK = torch.zeros_like(scores)
    start_BHQK[..., 0] = 1.0
    return start_BHQK


def _radius(radius: int) -> int:
    if radius < 1:
        raise ConfigError(f"local attention radius={radius} must be 1 or more.")
    return radius
