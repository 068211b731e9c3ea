"""Copying from the source, and the pressure not to copy the same thing twice."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.initialization import linear


class PointerGenerator(nn.Module):
    """log(g P(w) + (1 - g) sum_{j: source_j = w} a_j), g = sigmoid(W about)   (See et al. 2017, eq. 8-9).

    Source and target share one vocabulary of pieces, so whatever can be read can be copied. Any attention will do: all
    that is asked of it are its weights.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = linear(width, 1)

    def forward(
        self,
        logits: Float[Tensor, "B T V"],
        weights: Float[Tensor, "B T S"],
        source: Int[Tensor, "B S"],
        about: Float[Tensor, "B T D"],
    ) -> Float[Tensor, "B T V"]:
        """Log-probabilities of the next piece; `about` is what the gate decides by."""
        gate_BT1 = self.gate(about)
        generated_BTV = F.logsigmoid(gate_BT1) + logits.log_softmax(-1)
        copied_BTV = copied(weights, source, logits.shape[-1])
        # A weight of zero has no logarithm; the floor is far below any probability a float32 softmax gives.
        floor = torch.finfo(copied_BTV.dtype).tiny
        return torch.logaddexp(generated_BTV, F.logsigmoid(-gate_BT1) + copied_BTV.clamp(min=floor).log())


def copied(weights: Float[Tensor, "B T S"], source: Int[Tensor, "B S"], vocabulary: int) -> Float[Tensor, "B T V"]:
    """The attention each piece of the vocabulary gets, over all places of the source where it stands."""
    index_BTS = source[:, None].expand_as(weights)
    return weights.new_zeros(*weights.shape[:2], vocabulary).scatter_add(-1, index_BTS, weights)


def coverage_penalty(weights: Float[Tensor, "B T S"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, ""]:
    """sum_t sum_j min(a_tj, sum_{u<t} a_uj)   (See et al. 2017, eq. 12)."""
    before_BTS = weights.cumsum(1) - weights
    repeated_BT = torch.minimum(weights, before_BTS).sum(-1)
    return (repeated_BT if real is None else repeated_BT * real).sum()
