"""Label-smoothed cross-entropy as sums that add up, however a batch is split.

A loss is a total and the number of targets it counts. Whoever trains adds the totals of all parts and divides once, by
the number of targets in all parts: a mean per part would weigh a short part like a long one.

Shapes here: N positions, M of them counted, P of those in one chunk, V pieces in the vocabulary, D width.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import ModelError
from regard.nn.native.multiplying import add_product, product, product_into

__all__ = [
    "IGNORE",
    "Loss",
    "chosen_loss",
    "chunked_cross_entropy",
    "distribution_loss",
    "shared_cross_entropy",
    "smoothed_cross_entropy",
]

IGNORE = -100
"""A target that does not count, unless the caller names another number; torch's own choice."""

IMPOSSIBLE = -100.0
"""The log-probability charged for a target of probability zero, as in torch's binary cross-entropy."""

CHUNK_BYTES = 2**25
"""Logits held at once: 256 positions at a vocabulary of 32k in single precision."""

CHUNK_POSITIONS = 128
"""Fewest positions in a chunk: each chunk reads the weight and rewrites its gradient, however short it is."""


@dataclass(frozen=True)
class Loss:
    """Sums over the counted targets, so that the parts of a batch add up to the batch."""

    total: Float[Tensor, ""]
    """What training makes small."""
    count: Int[Tensor, ""]
    """How many targets were counted."""
    nll: Float[Tensor, ""]
    """Negative log-likelihood, unsmoothed and without gradient: exp(nll / count) is the perplexity."""

    @property
    def mean(self) -> Float[Tensor, ""]:
        """total / count, and zero when nothing was counted."""
        return self.total / self.count.clamp(min=1)

    def __add__(self, other: "Loss") -> "Loss":
        return Loss(self.total + other.total, self.count + other.count, self.nll + other.nll)


def smoothed_cross_entropy(
    logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], smoothing: float = 0.0, ignore: int = IGNORE
) -> Loss:
    """distribution_loss(log softmax(logits)), with torch's meaning of label smoothing."""
    return distribution_loss(logits.log_softmax(-1, dtype=wide(logits.dtype)), targets, smoothing, ignore)


def shared_cross_entropy(logits: Float[Tensor, "N V"], shares: Float[Tensor, "N V"], smoothing: float = 0.0) -> Loss:
    """-sum_v ((1 - e) s(v) + e / V) log p(v): the cross-entropy with targets of which each class has a share.

    A row without any share does not count. With all of a row's shares on one class it is smoothed_cross_entropy.
    """
    check(logits, "logits", smoothing)
    counted_N = shares.sum(1) > 0
    log_MV = logits[counted_N].log_softmax(-1, dtype=wide(logits.dtype))
    shares_MV = shares[counted_N].to(log_MV.dtype)
    nll = -(shares_MV * log_MV).sum()
    total = (1 - smoothing) * nll - smoothing * log_MV.mean(1).sum() if smoothing else nll
    return Loss(total, counted_N.sum(), nll.detach())


def distribution_loss(
    log_probabilities: Float[Tensor, "N V"], targets: Int[Tensor, " N"], smoothing: float = 0.0, ignore: int = IGNORE
) -> Loss:
    """-(1 - e) log p(y) - e mean_v log p(v), summed over the counted targets y   (Szegedy et al. 2016, section 7).

    A piece whose log-probability is -inf is impossible. Smoothing is shared out among the possible pieces only, so the
    slots a copying model adds for the words of one text change nothing for its neighbours. An impossible target costs
    100 nats and has no gradient.
    """
    check(log_probabilities, "log-probabilities", smoothing)
    counted = counted_targets(targets, ignore, *log_probabilities.shape)
    log_MV = log_probabilities[counted.rows]
    log_M = picked(log_MV, counted.targets)
    # Filling, unlike clamping, leaves the gradient of a merely unlikely piece alone and lets a NaN be seen.
    nll_M = -log_M.masked_fill(log_M == -torch.inf, IMPOSSIBLE)
    loss_M = (1 - smoothing) * nll_M - smoothing * _possible_mean(log_MV) if smoothing else nll_M
    return Loss(loss_M.sum(), counted.number, nll_M.detach().sum())


def chosen_loss(
    log_probabilities: Float[Tensor, " N"],
    means: Float[Tensor, " N"],
    targets: Int[Tensor, " N"],
    smoothing: float = 0.0,
    ignore: int = IGNORE,
) -> Loss:
    """distribution_loss of targets whose log-probabilities, and the means over all pieces, are known already."""
    counted_N = targets != ignore
    nll_M, mean_M = -log_probabilities[counted_N], means[counted_N]
    loss_M = (1 - smoothing) * nll_M - smoothing * mean_M if smoothing else nll_M
    return Loss(loss_M.sum(), counted_N.sum(), nll_M.detach().sum())


def chunked_cross_entropy(
    hidden: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"] | None,
    targets: Int[Tensor, " N"],
    smoothing: float = 0.0,
    ignore: int = IGNORE,
    chunk: int | None = None,
) -> Loss:
    """smoothed_cross_entropy(hidden weight^T + bias), holding the logits of one chunk of positions at a time.

    Positions whose target is ignored cost nothing. `chunk` counts positions; None takes as many as fill 32 MB.
    Differentiable once; all parameters are taken to be finite.
    """
    hidden, weight = as_linear_would(hidden), as_linear_would(weight)
    check(hidden, "hidden states", smoothing)
    check_output(hidden, weight, bias)
    counted = counted_targets(targets, ignore, len(hidden), len(weight))
    size = chunk_size(chunk, len(weight), wide(hidden.dtype))
    # Inside an autograd function gradients are always off, so whether anybody wants them is asked out here.
    learning = torch.is_grad_enabled()
    total, nll = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, counted, smoothing, size, learning
    )
    return Loss(total, counted.number, nll)


class Counted(NamedTuple):
    """The positions whose target counts, and those targets."""

    rows: Int[Tensor, " M"]
    targets: Int[Tensor, " M"]

    @property
    def number(self) -> Int[Tensor, ""]:
        return torch.tensor(len(self.rows), device=self.rows.device)

    def chunks(self, size: int) -> Iterator["Counted"]:
        return map(Counted, torch.split(self.rows, size), torch.split(self.targets, size))


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Loss and gradients in one sweep: the loss is a sum, so the gradient of each term is known along with it."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "N D"],
        weight: Float[Tensor, "V D"],
        bias: Float[Tensor, " V"] | None,
        counted: Counted,
        smoothing: float,
        size: int,
        learning: bool,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        gradients = Gradients.zeros(hidden, weight, bias, [learning and need for need in ctx.needs_input_grad])
        # Used again by every chunk: so much fresh memory would cost more, page by page, than the softmax.
        buffer_PV = hidden.new_empty(min(size, len(counted.rows)), len(weight), dtype=wide(hidden.dtype))
        mean = _Mean.of(weight, bias) if smoothing else None
        losses, nlls = [], []
        for rows_P, targets_P in counted.chunks(size):
            hidden_PD = hidden[rows_P]
            logits_PV = linear_into(hidden_PD, weight, bias, out=buffer_PV[: len(rows_P)])
            target_P = picked(logits_PV, targets_P)
            # In place: the softmax reads a row before it writes it.
            torch.softmax(logits_PV, 1, out=logits_PV)
            nll_P = _nll(picked(logits_PV, targets_P), target_P, hidden_PD, weight, bias)
            nlls.append(nll_P)
            losses.append(nll_P if mean is None else nll_P + smoothing * (target_P - mean.logit(hidden_PD)))
            if gradients.wanted:
                logits_PV[torch.arange(len(targets_P), device=targets_P.device), targets_P] -= 1 - smoothing
                gradients.add(logits_PV, rows_P, hidden_PD, weight)
        if mean is not None:
            gradients.spread(smoothing, counted.rows, hidden, mean)
        total, nll = torch.cat(losses).sum(), torch.cat(nlls).sum()
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, *of_outputs: Tensor) -> tuple[Tensor | None, ...]:
        return *scaled(ctx, *of_outputs), None, None, None, None


def scaled(ctx: Any, of_total: Float[Tensor, ""], of_nll: Tensor) -> list[Tensor | None]:
    """The gradients that a sweep has left, for what its total is multiplied by."""
    # Gradients are on during a backward pass only if that pass is itself to be differentiated.
    if torch.is_grad_enabled():
        raise ModelError(
            "A loss in chunks has no second derivative; use smoothed_cross_entropy on the logits, or leave out "
            "create_graph=True."
        )
    return [None if gradient is None else gradient * of_total for gradient in ctx.saved_tensors]


class Gradients(NamedTuple):
    """Of the total, with respect to whichever inputs ask for one; filled chunk by chunk."""

    hidden: Float[Tensor, "N D"] | None
    weight: Float[Tensor, "V D"] | None
    bias: Float[Tensor, " V"] | None

    @classmethod
    def zeros(cls, hidden: Tensor, weight: Tensor, bias: Tensor | None, wanted: list[bool]) -> "Gradients":
        """Zeros where wanted; those that sum over positions are wide, lest a sum of many chunks lose digits."""
        return cls(
            torch.zeros_like(hidden) if wanted[0] else None,
            torch.zeros_like(weight, dtype=wide(weight.dtype)) if wanted[1] else None,
            torch.zeros_like(bias, dtype=wide(bias.dtype)) if bias is not None and wanted[2] else None,
        )

    @property
    def wanted(self) -> bool:
        return any(gradient is not None for gradient in self)

    def add(
        self,
        gradient: Float[Tensor, "P V"],
        rows: Int[Tensor, " P"],
        hidden: Float[Tensor, "P D"],
        weight: Float[Tensor, "V D"],
    ) -> None:
        """Take in one chunk, given softmax(z)_v - (1 - e) [v = y]: the gradient with respect to its logits z, but for
        what smoothing takes from all alike."""
        narrow_PV = gradient.to(hidden.dtype)
        if self.hidden is not None:
            self.hidden[rows] = product(narrow_PV, weight)
        if self.weight is not None:
            _add_product_(self.weight, narrow_PV.T, hidden)
        if self.bias is not None:
            self.bias.add_(gradient.sum(0))

    def spread(self, smoothing: float, rows: Int[Tensor, " M"], hidden: Float[Tensor, "N D"], mean: "_Mean") -> None:
        """Take e / V from the gradient of every logit of these rows, all at once."""
        if self.hidden is not None:
            self.hidden[rows] -= (smoothing * mean.weight).to(hidden.dtype)
        if self.weight is not None:
            self.weight.sub_(smoothing / len(self.weight) * hidden[rows].sum(0, dtype=self.weight.dtype))
        if self.bias is not None:
            self.bias.sub_(smoothing / len(self.bias) * len(rows))


class _Mean(NamedTuple):
    """The output weight and bias as the mean over all pieces: what smoothing needs of all logits is linear in them."""

    weight: Float[Tensor, " D"]
    bias: Float[Tensor, ""] | float

    @classmethod
    def of(cls, weight: Float[Tensor, "V D"], bias: Float[Tensor, " V"] | None) -> "_Mean":
        exact = wide(weight.dtype)
        return cls(weight.mean(0, dtype=exact), 0.0 if bias is None else bias.mean(dtype=exact))

    def logit(self, hidden: Float[Tensor, "P D"]) -> Float[Tensor, " P"]:
        """mean_v z_v."""
        return hidden.to(self.weight.dtype) @ self.weight + self.bias


def linear_into(
    hidden: Float[Tensor, "P D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"] | None,
    out: Float[Tensor, "P V"],
) -> Float[Tensor, "P V"]:
    """hidden weight^T + bias, written to `out`."""
    if out.dtype == hidden.dtype:
        product_into(hidden, weight.T, out)
    else:
        out.copy_(hidden @ weight.T)
    return out if bias is None else out.add_(bias)


def _nll(
    probability: Float[Tensor, " P"],
    logit: Float[Tensor, " P"],
    hidden: Float[Tensor, "P D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"] | None,
) -> Float[Tensor, " P"]:
    """-log p(y); log sum_v exp z_v - z_y where the probability is too small to be a number."""
    nll_P = -probability.log()
    lost = (probability < torch.finfo(probability.dtype).tiny).nonzero().squeeze(1)
    if len(lost):
        logits = hidden.new_empty(len(lost), len(weight), dtype=logit.dtype)
        nll_P[lost] = linear_into(hidden[lost], weight, bias, out=logits).logsumexp(1) - logit[lost]
    return nll_P


def _add_product_(total: Float[Tensor, "V D"], left: Float[Tensor, "V P"], right: Float[Tensor, "P D"]) -> None:
    """total + left right, in place and in the total's precision."""
    if total.dtype == right.dtype:
        add_product(total, left, right)
    else:
        total.add_(left @ right)


def _possible_mean(log_probabilities: Float[Tensor, "M V"]) -> Float[Tensor, " M"]:
    """mean_v log p(v) over the pieces v that are possible."""
    impossible_MV = log_probabilities == -torch.inf
    return log_probabilities.masked_fill(impossible_MV, 0).sum(1) / (~impossible_MV).sum(1).clamp(min=1)


def picked(values: Float[Tensor, "P V"], targets: Int[Tensor, " P"]) -> Float[Tensor, " P"]:
    return values.gather(1, targets.unsqueeze(1)).squeeze(1)


def counted_targets(targets: Tensor, ignore: int, positions: int, pieces: int) -> Counted:
    """The targets that count, each known to name a piece."""
    if targets.is_floating_point() or targets.dtype == torch.bool:
        raise ModelError(f"Targets of type {targets.dtype} cannot name pieces; give whole numbers (torch.int64).")
    if targets.shape != (positions,):
        raise ModelError(f"{positions} positions but targets of shape {list(targets.shape)}; give one per position.")
    rows_M = (targets != ignore).nonzero().squeeze(1)
    targets_M = targets[rows_M].long()
    outside_M = targets_M[(targets_M < 0) | (targets_M >= pieces)]
    if len(outside_M):
        raise ModelError(
            f"Target {int(outside_M[0])} names none of the {pieces} pieces, which count from 0 to {pieces - 1}; "
            f"mark targets that should not count with {ignore}."
        )
    return Counted(rows_M, targets_M)


def check(values: Tensor, name: str, smoothing: float) -> None:
    if values.dim() != 2:
        raise ModelError(
            f"The {name} have shape {list(values.shape)}; flatten the positions into the first of two sizes."
        )
    if not 0 <= smoothing < 1:
        raise ModelError(f"smoothing = {smoothing} is no share of the probability; give at least 0 and less than 1.")


def check_output(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if weight.shape[1:] != hidden.shape[1:]:
        raise ModelError(
            f"Hidden states of width {hidden.shape[1]} but an output weight of shape {list(weight.shape)}; "
            "give one of shape [pieces, width]."
        )
    if weight.dtype != hidden.dtype:
        raise ModelError(f"Hidden states are {hidden.dtype} but the output weight is {weight.dtype}; convert one.")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ModelError(f"{len(weight)} pieces but a bias of shape {list(bias.shape)}; give one number per piece.")


def chunk_size(chunk: int | None, pieces: int, dtype: torch.dtype) -> int:
    """How many positions a chunk has: as asked, or as many as fill CHUNK_BYTES."""
    if chunk is None:
        return max(CHUNK_POSITIONS, CHUNK_BYTES // max(1, pieces * dtype.itemsize))
    if chunk < 1:
        raise ModelError(f"chunk = {chunk} holds no position; give 1 or more, or None to have it chosen.")
    return chunk


def as_linear_would(tensor: Tensor) -> Tensor:
    """What `F.linear` turns this into under autocast, which does not reach into an autograd function."""
    device = tensor.device.type
    if torch.is_autocast_enabled(device) and tensor.dtype != torch.float64:
        return tensor.to(torch.get_autocast_dtype(device))
    return tensor


def wide(dtype: torch.dtype) -> torch.dtype:
    """The precision to sum in: float32 or better."""
    return torch.promote_types(dtype, torch.float32)
