"""Softmax attention block by block: what the chunked kernel walks, forward and back.

Any block of a problem can be computed on its own, so nothing here knows a score, a position scheme or a scope.
"""

import math
from typing import Any

import torch
from torch import Tensor

from regard.attention.places import Place, part
from regard.attention.problem import Problem, sizes_of
from regard.attention.scores import Product
from regard.errors import ModelError

# Blocks that stay in the cache, and hold fewer pairs where batch, heads or the score's own vectors make each cost more.
CHUNK_ROWS = 128
CHUNK_COLUMNS = 256
CHUNK_NUMBERS = 1 << 20
CHUNK_LEAST = 16


def exponentials(scores: Tensor, allowed: Tensor | None, lse: Tensor) -> Tensor:
    weights = (scores - lse[..., None]).exp_()
    return weights if allowed is None else torch.where(allowed, weights, 0.0)


def first_derivative_only(kernel: str) -> None:
    # Autograd runs a backward with gradients on exactly when a graph of it was asked for.
    if torch.is_grad_enabled():
        raise ModelError(f"The {kernel} kernel has no second derivative; choose kernel 'reference' for create_graph.")


def blocks(problem: Problem) -> list[tuple[slice, list[slice]]]:
    """Stretches of rows, each with the stretches of keys that the mask's band lets it see."""
    batch, heads, queries, _ = sizes_of(problem)
    pairs = CHUNK_NUMBERS // (batch * heads * per_pair(problem))
    high = min(CHUNK_ROWS, queries, max(CHUNK_LEAST, _even(math.isqrt(pairs))))
    wide = min(CHUNK_COLUMNS, max(CHUNK_LEAST, _even(pairs // high)))
    return [(rows, _stretches(_visible(problem, rows), wide)) for rows in _stretches(slice(0, queries), high)]


def _even(size: int) -> int:
    """The power of two at or below this size: matrices of odd sizes multiply slowly."""
    return 1 << max(0, size.bit_length() - 1)


def per_pair(problem: Problem) -> int:
    """How many numbers a pair takes: a score that is no product may hold a vector as wide as a prepared key."""
    return 1 if isinstance(problem.formula.score, Product) else problem.keys.shape[-1]


def _visible(problem: Problem, rows: slice) -> slice:
    return problem.mask.visible(part(problem.at_query, rows), problem.at_key)


def in_view(problem: Problem) -> int:
    """How many pairs the blocks hold."""
    return sum(_size(rows) * sum(map(_size, columns)) for rows, columns in blocks(problem))


def _size(stretch: slice) -> int:
    return stretch.stop - stretch.start


def _stretches(whole: slice, size: int) -> list[slice]:
    starts = range(whole.start, whole.stop, size)
    return [slice(start, min(start + size, whole.stop)) for start in starts]


class Chunked(torch.autograd.Function):
    """Forward keeps the context and each row's log-sum-exp; backward computes each block's weights again."""

    @staticmethod
    def forward(ctx: Any, problem: Problem, query: Tensor, keys: Tensor, values: Tensor, *parameters: Tensor) -> Any:
        context = query.new_empty(*query.shape[:3], values.shape[-1])
        lse = query.new_empty(query.shape[:3])
        for rows, columns in blocks(problem):
            context[:, :, rows], lse[:, :, rows] = _forward_rows(problem, query[:, :, rows], rows, columns)
        ctx.problem, ctx.parameters = problem, parameters
        ctx.save_for_backward(query, keys, values, context, lse)
        ctx.mark_non_differentiable(lse)
        return context, lse

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        first_derivative_only("chunked")
        query, keys, values, context, lse = ctx.saved_tensors
        given = [query, keys, values, *ctx.parameters]
        sums = [torch.zeros_like(tensor) if tensor.requires_grad or i < 3 else None for i, tensor in enumerate(given)]
        delta = (gradients[0] * context).sum(-1)
        for rows, columns in blocks(ctx.problem):
            for stretch in columns:
                place = ctx.problem.place(rows, stretch)
                inputs = [query[:, :, rows], keys[:, :, stretch], values[:, :, stretch]]
                found = _backward_block(
                    ctx.problem, place, inputs, ctx.parameters,
                    (gradients[0][:, :, rows], delta[:, :, rows], lse[:, :, rows]),
                )  # fmt: skip
                _add(sums, found, rows, stretch)
        return None, *sums


def _forward_rows(problem: Problem, query: Tensor, rows: slice, columns: list[slice]) -> tuple[Tensor, Tensor]:
    """One stretch of queries over all its keys, keeping a running maximum, sum and weighted sum."""
    peak = query.new_full((*query.shape[:3], 1), torch.finfo(query.dtype).min)
    total, context = torch.zeros_like(peak), query.new_zeros(*query.shape[:3], problem.values.shape[-1])
    for stretch in columns:
        place = problem.place(rows, stretch)
        scores, allowed = problem.scores(query, problem.keys[:, :, stretch], place), problem.allowed(query, place)
        scores = scores if allowed is None else torch.where(allowed, scores, -torch.inf)
        # The peak starts finite and only grows, so a masked score can never be infinity minus infinity.
        higher = torch.maximum(peak, scores.amax(-1, keepdim=True))
        weights = (scores - higher).exp_()
        shrink = (peak - higher).exp_()
        total.mul_(shrink).add_(weights.sum(-1, keepdim=True))
        used = problem.used(weights, query, place)
        context.mul_(shrink).add_(problem.mixed(used, problem.values[:, :, stretch], place))
        peak = higher
    # A dead row has no sum: it gives zeros, and an infinite log-sum-exp makes its weights zero again later.
    alive = total > 0
    lse = torch.where(alive, peak + total.log(), torch.inf).squeeze(-1)
    return torch.where(alive, context / total.clamp(min=torch.finfo(total.dtype).tiny), 0.0), lse


def _backward_block(
    problem: Problem, place: Place, inputs: list[Tensor], parameters: tuple[Tensor, ...], known: tuple[Tensor, ...]
) -> list[Tensor | None]:
    """Gradients of one block for its queries, keys, values and every parameter of the formula."""
    gradient, delta, lse = known
    learned = [tensor for tensor in parameters if tensor.requires_grad]
    with torch.enable_grad():
        query, keys, values = (tensor.detach().requires_grad_() for tensor in inputs)
        scores, allowed = problem.scores(query, keys, place), problem.allowed(query, place)
        weights = exponentials(scores.detach(), allowed, lse).requires_grad_()
        context = problem.mixed(problem.used(weights, query, place), values, place)
    onward = torch.autograd.grad(context, [weights, query, values, *learned], gradient, allow_unused=True)
    d_scores = (onward[0] - delta[..., None]).mul_(weights.detach())
    back = torch.autograd.grad(scores, [query, keys, *learned], d_scores, allow_unused=True)
    found = [_sum(onward[1], back[0]), back[1], onward[2]]
    later = iter([_sum(first, second) for first, second in zip(onward[3:], back[2:], strict=True)])
    return found + [next(later) if tensor.requires_grad else None for tensor in parameters]


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _add(sums: list[Tensor | None], found: list[Tensor | None], rows: slice, columns: slice) -> None:
    """Add a block's gradients to the whole: queries by rows, keys and values by columns, parameters entire."""
    places = [(slice(None), slice(None), rows)] + [(slice(None), slice(None), columns)] * 2
    for index, (whole, new) in enumerate(zip(sums, found, strict=True)):
        if whole is not None and new is not None:
            target = whole[places[index]] if index < 3 else whole
            target += new
