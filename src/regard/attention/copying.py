"""Copying from the source, and the pressure not to copy the same thing twice."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.initialization import linear


class PointerGenerator(nn.Module):
    """log(g P(w) + (1 - g) sum_{j: source_j = w} a_j), g = sigmoid(W about)   (See et al. 2017, eq. 8-9).

    Source and target share one vocabulary of pieces, so whatever can be read can be copied. Any attention will do: all
    that is asked of it are its weights, and what they leave of one (local-p, monotonic, a dead row) is generated.
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
        generate_BT1, copy_BT1 = F.logsigmoid(gate_BT1), F.logsigmoid(-gate_BT1)
        left_BT1 = _log(1.0 - weights.sum(-1, keepdim=True))
        generated_BTV = torch.logaddexp(generate_BT1, copy_BT1 + left_BT1) + logits.log_softmax(-1)
        return torch.logaddexp(generated_BTV, copy_BT1 + _log(copied(weights, source, logits.shape[-1])))


def _log(share: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """Zero has no logarithm; the floor is far below any probability a float32 softmax gives."""
    return share.clamp(min=torch.finfo(share.dtype).tiny).log()


def copied(weights: Float[Tensor, "B T S"], source: Int[Tensor, "B S"], vocabulary: int) -> Float[Tensor, "B T V"]:
    """The attention each piece of the vocabulary gets, over all places of the source where it stands."""
    index_BTS = source[:, None].expand_as(weights)
    return weights.new_zeros(*weights.shape[:2], vocabulary).scatter_add(-1, index_BTS, weights)


def coverage_penalty(weights: Float[Tensor, "B T S"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, ""]:
    """sum_t sum_j min(a_tj, sum_{u<t} a_uj)   (See et al. 2017, eq. 12)."""
    before_BTS = weights.cumsum(1) - weights
    repeated_BT = torch.minimum(weights, before_BTS).sum(-1)
    return (repeated_BT if real is None else repeated_BT * real).sum()
