"""Copying from the source, and the pressure not to copy the same thing twice."""

from typing import NamedTuple

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
        generate_BT1, copy_BT1 = self._shares(weights, about)
        generated_BTV = generate_BT1 + logits.log_softmax(-1)
        return torch.logaddexp(generated_BTV, copy_BT1 + _log(copied(weights, source, logits.shape[-1])))

    def chosen(
        self,
        logits: Float[Tensor, "B T V"],
        weights: Float[Tensor, "B T S"],
        source: Int[Tensor, "B S"],
        about: Float[Tensor, "B T D"],
        targets: Int[Tensor, "B T"],
    ) -> "Chosen":
        """What `forward` gives each target and all pieces on average, without a distribution over the vocabulary.

        A piece that is not in the source has the generator's probability alone, so the mean over all pieces is the
        generator's, corrected at the pieces of the source, each of which counts once.
        """
        generate_BT1, copy_BT1 = self._shares(weights, about)
        # One look-up for target and source together: the gradient of each would be as large as the logits.
        places_BTX = torch.cat([targets[..., None], source[:, None].expand_as(weights)], -1)
        scale_BT1 = generate_BT1 - logits.logsumexp(-1, keepdim=True)
        generated_BTX = scale_BT1 + logits.gather(-1, places_BTX)
        pointed_BTX = copy_BT1 + _log(_pointed(weights, source, targets))
        mixed_BTX = torch.logaddexp(generated_BTX, pointed_BTX)
        once_B1S = _first(source)[:, None]
        gained_BT = ((mixed_BTX - generated_BTX)[..., 1:] * once_B1S).sum(-1)
        mean_BT = scale_BT1[..., 0] + logits.mean(-1) + gained_BT / logits.shape[-1]
        return Chosen(mixed_BTX[..., 0], mean_BT, (pointed_BTX - mixed_BTX)[..., 0].exp())

    def _shares(
        self, weights: Float[Tensor, "B T S"], about: Float[Tensor, "B T D"]
    ) -> tuple[Float[Tensor, "B T 1"], Float[Tensor, "B T 1"]]:
        """The logarithms of how much is generated and how much copied; what the weights leave is generated."""
        gate_BT1 = self.gate(about)
        copy_BT1 = F.logsigmoid(-gate_BT1)
        left_BT1 = _log(1.0 - weights.sum(-1, keepdim=True))
        return torch.logaddexp(F.logsigmoid(gate_BT1), copy_BT1 + left_BT1), copy_BT1


class Chosen(NamedTuple):
    """The log-probability of each target, the mean of those of all pieces, and what share of it is copied."""

    log: Float[Tensor, "B T"]
    mean: Float[Tensor, "B T"]
    copied: Float[Tensor, "B T"]


def _pointed(
    weights: Float[Tensor, "B T S"], source: Int[Tensor, "B S"], targets: Int[Tensor, "B T"]
) -> Float[Tensor, "B T X"]:
    """The attention the target gets over all its places in the source, and then each piece of the source."""
    target_BT1 = (weights * (source[:, None] == targets[..., None])).sum(-1, keepdim=True)
    same_BSS = (source[:, :, None] == source[:, None]).to(weights.dtype)
    return torch.cat([target_BT1, weights @ same_BSS], -1)


def _first(source: Int[Tensor, "B S"]) -> Bool[Tensor, "B S"]:
    """Where a piece stands for the first time in its source."""
    return ~(source[:, :, None] == source[:, None]).tril(-1).any(-1)


def _log(share: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """Zero has no logarithm; the floor is far below any probability a float32 softmax gives."""
    return share.clamp(min=torch.finfo(share.dtype).tiny).log()


def copied(weights: Float[Tensor, "B T S"], source: Int[Tensor, "B S"], vocabulary: int) -> Float[Tensor, "B T V"]:
    """The attention each piece of the vocabulary gets, over all places of the source where it stands."""
    index_BTS = source[:, None].expand_as(weights)
    # Not by the sizes of a shape, which may be constants to whoever draws a graph of this.
    nothing_BTV = F.pad(weights[..., :0].detach(), (0, vocabulary))
    return nothing_BTV.scatter_add(-1, index_BTS, weights)


def coverage_penalty(weights: Float[Tensor, "B T S"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, ""]:
    """sum_t sum_j min(a_tj, sum_{u<t} a_uj)   (See et al. 2017, eq. 12)."""
    before_BTS = weights.cumsum(1) - weights
    repeated_BT = torch.minimum(weights, before_BTS).sum(-1)
    return (repeated_BT if real is None else repeated_BT * real).sum()
