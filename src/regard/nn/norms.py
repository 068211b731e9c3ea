"""Keeping activations in range: one interface, with the mask of real positions for whoever needs it."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F


class LayerNorm(nn.Module):
    """(x - mean) / sqrt(var + e) * g + b over the width   (Ba et al. 2016)."""

    def __init__(self, width: int, *, epsilon: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T D"]:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + e) * g   (Zhang and Sennrich 2019)."""

    def __init__(self, width: int, *, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T D"]:
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


class BatchNorm(nn.Module):
    """(x - mean) / sqrt(var + e) * g + b over all real positions of the batch   (Ioffe and Szegedy 2015).

    Here for comparison: in training a text's output depends on its neighbours and on the batch's lengths, which is why
    layer norm won on ragged text. Evaluation uses running statistics and keeps promise 3; so does a batch of a single
    piece, which has no variance.
    """

    def __init__(self, width: int, *, epsilon: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.inner = nn.BatchNorm1d(width, epsilon, momentum)

    def forward(self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T D"]:
        if real is None:
            return self._normed(x.flatten(0, 1)).view_as(x)
        return torch.zeros_like(x).index_put((real,), self._normed(x[real]))

    def _normed(self, pieces_ND: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        inner = self.inner
        if len(pieces_ND) > 1:
            return inner(pieces_ND)
        mean, variance = inner.running_mean, inner.running_var
        return F.batch_norm(pieces_ND, mean, variance, inner.weight, inner.bias, eps=inner.eps)


class NoNorm(nn.Module):
    """x, unchanged."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T D"]:
        return x


NORMS: dict[str, type[nn.Module]] = {"layer": LayerNorm, "rms": RMSNorm, "batch": BatchNorm, "none": NoNorm}
