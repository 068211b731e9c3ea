"""Cross-entropy of two readings of the same targets, and how far the two differ   (R-Drop, Liang et al. 2021).

The first half of the positions is one reading, the second half the other: the same batch twice, other numbers dropped.
Shapes as in `losses`; here N counts the positions of one reading, and P those of a chunk.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import ModelError
from regard.nn.losses import (
    IGNORE,
    Counted,
    Gradients,
    Loss,
    as_linear_would,
    check,
    check_output,
    chunk_size,
    counted_targets,
    linear_into,
    picked,
    scaled,
    wide,
)


def agreeing_cross_entropy(
    hidden: Float[Tensor, "M D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"] | None,
    targets: Int[Tensor, " N"],
    agreement: float,
    smoothing: float = 0.0,
    ignore: int = IGNORE,
    chunk: int | None = None,
) -> Loss:
    """(L(p) + L(q)) / 2 + agreement / 4 (KL(p, q) + KL(q, p)), L as in `smoothed_cross_entropy`; M = 2 N.

    So it is worth as much as one reading, and agreement weighs as in the paper (5 for translation).
    """
    hidden, weight = as_linear_would(hidden), as_linear_would(weight)
    check(hidden, "hidden states", smoothing)
    check_output(hidden, weight, bias)
    if len(hidden) != 2 * len(targets):
        raise ModelError(f"{len(hidden)} states are not two readings of {len(targets)} targets; give all of both.")
    found = counted_targets(targets, ignore, len(targets), len(weight))
    size = max(1, chunk_size(chunk, len(weight), wide(hidden.dtype)) // 2)
    total, nll = _Agreeing.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, found, agreement, smoothing, size, torch.is_grad_enabled()
    )
    return Loss(total, found.number, nll)


class _Agreeing(torch.autograd.Function):
    """Loss and gradients in one sweep over chunks of both readings."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "M D"],
        weight: Float[Tensor, "V D"],
        bias: Float[Tensor, " V"] | None,
        found: Counted,
        agreement: float,
        smoothing: float,
        size: int,
        learning: bool,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        gradients = Gradients.zeros(hidden, weight, bias, [learning and need for need in ctx.needs_input_grad])
        total = nll = hidden.new_zeros((), dtype=wide(hidden.dtype))
        for rows_P, targets_P in found.chunks(size):
            rows_2P, targets_2P = torch.cat([rows_P, rows_P + len(hidden) // 2]), targets_P.repeat(2)
            hidden_2PD = hidden[rows_2P]
            logits_2PV = linear_into(
                hidden_2PD, weight, bias, hidden.new_empty(len(rows_2P), len(weight), dtype=wide(hidden.dtype))
            )
            log_2PV = logits_2PV.log_softmax(1)
            nll_2P = -picked(log_2PV, targets_2P)
            apart_2PV = log_2PV - log_2PV.roll(len(rows_P), 0)
            p_2PV = log_2PV.exp()
            kl_2P1 = (p_2PV * apart_2PV).sum(1, keepdim=True)
            smoothed = (1 - smoothing) * nll_2P.sum() - smoothing * log_2PV.mean(1).sum()
            total = total + (smoothed + agreement / 2 * kl_2P1.sum()) / 2
            nll = nll + nll_2P.sum() / 2
            if gradients.wanted:
                slope_2PV = agreement / 2 * (p_2PV * (apart_2PV - kl_2P1) + p_2PV - p_2PV.roll(len(rows_P), 0))
                slope_2PV += p_2PV - smoothing / len(weight)
                slope_2PV[torch.arange(len(targets_2P), device=targets_2P.device), targets_2P] -= 1 - smoothing
                gradients.add(slope_2PV.div_(2), rows_2P, hidden_2PD, weight)
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, *of_outputs: Tensor) -> tuple[Tensor | None, ...]:
        return *scaled(ctx, *of_outputs), None, None, None, None, None
