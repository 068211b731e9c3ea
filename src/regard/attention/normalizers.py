"""From scores to weights, with the mask: the only place where masking meets normalizing.

Every normalizer gives exact zeros where the mask forbids, and a row of zeros (with zero gradient) where it forbids
everything.
"""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.places import Sizes
from regard.errors import ConfigError

Allowed = Bool[Tensor, "#B #H #Q K"] | None


class Normalizer(nn.Module):
    """weights = f(scores) over the keys that are allowed."""

    # Whether weights are exp(score) over a sum, which lets kernels work block by block.
    online = False

    def sharpen(self, scores: Float[Tensor, "B H Q K"]) -> Float[Tensor, "B H Q K"]:
        """Scores as they enter the exponential."""
        return scores

    def forward(self, scores: Float[Tensor, "B H Q K"], allowed: Allowed) -> Float[Tensor, "B H Q K"]:
        raise NotImplementedError


class Softmax(Normalizer):
    """exp(s / t) / sum exp(s / t); the temperature t is fixed, or learned per head from where it is set."""

    online = True

    def __init__(self, sizes: Sizes, *, temperature: float = 1.0, learned: bool = False) -> None:
        super().__init__()
        if temperature <= 0:
            raise ConfigError(f"softmax temperature={temperature} must be above 0.")
        self.fixed = 1.0 / temperature
        sharpness = torch.full((sizes.heads, 1, 1), -math.log(temperature))
        self.sharpness = nn.Parameter(sharpness) if learned else None

    @property
    def factor(self) -> Tensor | float:
        """What scores are multiplied with: one over the temperature."""
        return self.fixed if self.sharpness is None else self.sharpness.exp()

    def sharpen(self, scores: Float[Tensor, "B H Q K"]) -> Float[Tensor, "B H Q K"]:
        return scores if self.sharpness is None and self.fixed == 1.0 else scores * self.factor

    def forward(self, scores: Float[Tensor, "B H Q K"], allowed: Allowed) -> Float[Tensor, "B H Q K"]:
        return masked_softmax(scores, allowed)


class TopSoftmax(Normalizer):
    """Softmax over the `count` best allowed keys of each row, zero elsewhere; equal scores: the earlier key wins."""

    def __init__(self, sizes: Sizes, *, count: int = 8) -> None:
        super().__init__()
        if count < 1:
            raise ConfigError(f"top softmax count={count} leaves every row dead; give 1 or more.")
        self.count = count

    def forward(self, scores: Float[Tensor, "B H Q K"], allowed: Allowed) -> Float[Tensor, "B H Q K"]:
        order_BHQK = filled(scores, allowed).argsort(dim=-1, descending=True, stable=True)
        best_BHQK = torch.zeros_like(scores, dtype=torch.bool)
        best_BHQK.scatter_(-1, order_BHQK[..., : self.count], True)
        return masked_softmax(scores, best_BHQK if allowed is None else best_BHQK & allowed)


class Sparsemax(Normalizer):
    """max(s - tau(s), 0), the projection onto the simplex   (Martins and Astudillo 2016)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()

    def forward(self, scores: Float[Tensor, "B H Q K"], allowed: Allowed) -> Float[Tensor, "B H Q K"]:
        shifted_BHQK = scores if allowed is None else scores.masked_fill(~allowed, -torch.inf)
        peak_BHQ1 = shifted_BHQK.detach().amax(-1, keepdim=True)
        # A dead row has no peak; forbidden scores fall below any threshold, which lies within one of the peak.
        shifted_BHQK = shifted_BHQK - peak_BHQ1.masked_fill(peak_BHQ1 == -torch.inf, 0.0)
        shifted_BHQK = shifted_BHQK.clamp(min=-2.0) if allowed is None else _floor(shifted_BHQK, allowed)
        weights_BHQK = (shifted_BHQK - _threshold(shifted_BHQK)).clamp(min=0.0)
        return weights_BHQK if allowed is None else weights_BHQK * allowed


class Hard(Normalizer):
    """One for the best allowed key (the earliest of equals), zero elsewhere; gradients as if it were the softmax."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()

    def forward(self, scores: Float[Tensor, "B H Q K"], allowed: Allowed) -> Float[Tensor, "B H Q K"]:
        soft_BHQK = masked_softmax(scores, allowed)
        best_BHQ1 = filled(scores, allowed).argmax(-1, keepdim=True)
        hard_BHQK = torch.zeros_like(soft_BHQK).scatter_(-1, best_BHQ1, 1.0)
        return straight_through(hard_BHQK if allowed is None else hard_BHQK * allowed, soft_BHQK)


NORMALIZERS: dict[str, type[Normalizer]] = {
    "softmax": Softmax,
    "top_softmax": TopSoftmax,
    "sparsemax": Sparsemax,
    "hard": Hard,
}


def filled(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Scores with the lowest finite number where the mask forbids: no infinities, so no NaN in any gradient."""
    return scores if allowed is None else scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)


def masked_softmax(scores: Float[Tensor, "B H Q K"], allowed: Allowed) -> Float[Tensor, "B H Q K"]:
    """Softmax over what is allowed; zeros where nothing is."""
    weights_BHQK = filled(scores, allowed).softmax(-1)
    return weights_BHQK if allowed is None else weights_BHQK * allowed


def straight_through(hard: Float[Tensor, "*N"], soft: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """The value of `hard` with the gradient of `soft`   (Bengio et al. 2013)."""
    passed: Tensor = _StraightThrough.apply(hard, soft)  # type: ignore[no-untyped-call]
    return passed


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hard: Tensor, soft: Tensor) -> Tensor:
        return hard.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        return None, gradients[0]


def _floor(shifted: Tensor, allowed: Tensor) -> Tensor:
    return shifted.clamp(min=-2.0).masked_fill(~allowed, -2.0)


def _threshold(shifted: Float[Tensor, "B H Q K"]) -> Float[Tensor, "B H Q 1"]:
    """tau such that the positive parts of (s - tau) sum to one."""
    ordered_BHQK = shifted.sort(dim=-1, descending=True).values
    ranks_K = torch.arange(1, shifted.shape[-1] + 1, device=shifted.device, dtype=shifted.dtype)
    excess_BHQK = ordered_BHQK.cumsum(-1) - 1.0
    support_BHQ1 = (ranks_K * ordered_BHQK > excess_BHQK).sum(-1, keepdim=True)
    return excess_BHQK.gather(-1, support_BHQ1 - 1) / support_BHQ1.to(shifted.dtype)
