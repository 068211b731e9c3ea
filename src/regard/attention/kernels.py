"""Three ways to the same context: reference, chunked, fused; and who picks which.

|           | weights held       | can                                                                    |
|-----------|--------------------|------------------------------------------------------------------------|
| reference | all                | everything, second derivatives included                                |
| chunked   | one block          | softmax of any score, with dropout, learned bias, any value width      |
| fused     | none (SDPA)        | softmax of product scores, fixed bias, no dropout, equal widths        |

For scores of order one, forward and backward agree within 1e-5 (float32) and 1e-10 (float64) of the largest entry;
dropout included, since its mask comes from a counter and not from the kernel.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from regard.attention.normalizers import Softmax
from regard.attention.places import Place, part
from regard.attention.positions import Position
from regard.attention.problem import Problem, sizes_of
from regard.attention.scopes import Scope
from regard.attention.scores import Product
from regard.errors import ModelError

# Chosen by `benchmarks/kernels.py` on a CPU. Weights in one call above which chunks, which also save memory, stand in
# for the plain formulas when training with dropout. At 2^21 weights the plain formulas take 0.6 to 1 times as long as
# chunks; at 2^23, where each of their tensors (32 MB) costs fresh pages, 1.4 times with look-ahead and 0.6 without; at
# 2^25, twice and as long.
MANY_WEIGHTS = 1 << 22
# The same for the numbers of a score that makes a vector of every pair.
MANY_NUMBERS = 1 << 25
# Entries of a mask or bias above which drawing it for the fused kernel costs more time and memory than chunks do, and
# the share of pairs in view below which chunks, which skip the rest, are faster whatever the size.
MANY_MASKED = 1 << 22
FEW_IN_VIEW = 0.5
# Blocks that stay in the cache, and hold fewer pairs where batch, heads or the score's own vectors make each cost more.
CHUNK_ROWS = 128
CHUNK_COLUMNS = 256
CHUNK_NUMBERS = 1 << 20
CHUNK_LEAST = 16


@dataclass(frozen=True)
class Result:
    """A context, and what is needed to rebuild its weights: themselves, or the log-sum-exp of each row's scores."""

    context: Float[Tensor, "B H Q W"]
    weights: Float[Tensor, "B H Q K"] | None = None
    scores: Float[Tensor, "B H Q K"] | None = None
    used: Float[Tensor, "B H Q K"] | None = None
    lse: Float[Tensor, "B H Q"] | None = None


def reference(problem: Problem) -> Result:
    """The plain formulas, all weights at once."""
    place = problem.whole
    scores_BHQK = problem.scores(problem.query, problem.keys, place)
    return from_scores(problem, scores_BHQK)


def from_scores(problem: Problem, scores: Float[Tensor, "B H Q K"]) -> Result:
    """The rest of the reference kernel, from scores that somebody may have replaced."""
    place = problem.whole
    allowed = problem.allowed(problem.query, place)
    formula = problem.formula
    weights_BHQK = formula.scope.normalize(scores, allowed, formula.normalizer, problem.history)
    used_BHQK = problem.used(weights_BHQK, problem.query, place)
    context_BHQW = problem.mixed(used_BHQK, problem.values, place)
    return Result(context_BHQW, weights_BHQK, scores, used_BHQK)


def fused(problem: Problem) -> Result:
    """torch's own kernel; every product score reduces to it."""
    score, normalizer = problem.formula.score, problem.formula.normalizer
    assert isinstance(score, Product)
    assert isinstance(normalizer, Softmax)
    asked_BHQE, scale = score.ask(problem.query), score.scale * normalizer.fixed
    if normalizer.sharpness is not None:
        asked_BHQE, scale = asked_BHQE * normalizer.factor, score.scale
    causal = _purely_causal(problem)
    bias = None if causal else _additive_mask(problem)
    if problem.query.device.type != "cpu":
        return _fused_elsewhere(problem, asked_BHQE, bias, causal, scale)
    context, lse = _Flash.apply(asked_BHQE, problem.keys, problem.values, bias, causal, scale)  # type: ignore[no-untyped-call]
    return Result(context, lse=lse)


def chunked(problem: Problem) -> Result:
    """Online softmax over blocks of keys   (Milakov and Gimelshein 2018; Dao et al. 2022), recomputed in backward."""
    parameters = tuple(problem.formula.parameters())
    # Rows are numbered once for all blocks.
    problem = replace(problem, rows=problem.row_numbers)
    context, lse = _Chunked.apply(problem, problem.query, problem.keys, problem.values, *parameters)  # type: ignore[no-untyped-call]
    return Result(context, lse=lse)


KERNELS: dict[str, Callable[[Problem], Result]] = {"reference": reference, "chunked": chunked, "fused": fused}


def run(problem: Problem, name: str = "auto") -> Result:
    """The context by the kernel of that name, or by the cheapest that can."""
    if name == "auto":
        return KERNELS[cheapest(problem)](problem)
    reason = REFUSALS[name](problem)
    if reason:
        raise ModelError(f"The {name} kernel cannot compute {reason}; choose kernel 'reference' or 'auto'.")
    return KERNELS[name](problem)


def cheapest(problem: Problem) -> str:
    """Fused where it can, unless a mask hides most of its work; chunked where weights are many; else reference."""
    if not fused_refuses(problem):
        return "chunked" if _wasteful(problem) else "fused"
    weights = math.prod(sizes_of(problem))
    many = weights > MANY_WEIGHTS or weights * _per_pair(problem) > MANY_NUMBERS
    return "chunked" if many and not chunked_refuses(problem) else "reference"


def fused_refuses(problem: Problem) -> str:
    """Why the fused kernel cannot compute this, or nothing."""
    formula = problem.formula
    if not isinstance(formula.score, Product):
        return f"a score that is no product ({type(formula.score).__name__})"
    if problem.dropout is not None:
        return "dropout of weights"
    if problem.keys.shape[-1] != problem.values.shape[-1]:
        return f"values of width {problem.values.shape[-1]} beside keys of width {problem.keys.shape[-1]}"
    if formula.position.mixes:
        return "positions that change the values"
    if torch.is_grad_enabled() and _learns_bias(problem):
        return "a learned bias while gradients are on"
    return chunked_refuses(problem) or _varied(problem)


def chunked_refuses(problem: Problem) -> str:
    """Why the chunked kernel cannot compute this, or nothing."""
    formula = problem.formula
    if not formula.normalizer.online:
        return f"a normalizer other than softmax ({type(formula.normalizer).__name__})"
    if not formula.scope.plain:
        return f"a scope that normalizes in its own way ({type(formula.scope).__name__})"
    if formula.score.recurrent:
        return "a score that looks back at earlier weights"
    return ""


REFUSALS: dict[str, Callable[[Problem], str]] = {
    "reference": lambda problem: "",
    "chunked": chunked_refuses,
    "fused": fused_refuses,
}


def used_weights(
    problem: Problem, lse: Float[Tensor, "B H Q"], allowed: Bool[Tensor, "#B #H #Q K"] | None
) -> Float[Tensor, "B H Q K"]:
    """exp(score - lse), masked: the weights that a fused or chunked kernel put on the values."""
    weights = _exponentials(problem.whole_scores(), allowed, lse)
    return problem.used(weights, problem.query, problem.whole)


def _exponentials(scores: Tensor, allowed: Tensor | None, lse: Tensor) -> Tensor:
    weights = (scores - lse[..., None]).exp_()
    return weights if allowed is None else torch.where(allowed, weights, 0.0)


# --- fused ---------------------------------------------------------------------------------------------------------


def _purely_causal(problem: Problem) -> bool:
    """Whether the mask is nothing but look-ahead over one stretch, which the kernel draws for itself."""
    mask, at = problem.mask, problem.at_query
    band = mask.after == 0 and mask.before is None and mask.keys is None and mask.pairs is None
    return band and isinstance(at, range) and at == problem.at_key and _bias_free(problem)


def _bias_free(problem: Problem) -> bool:
    return type(problem.formula.position).bias is Position.bias


def _learns_bias(problem: Problem) -> bool:
    """Whether the bias learns: by itself, or because a learned temperature divides it."""
    sharpened = any(parameter.requires_grad for parameter in problem.formula.normalizer.parameters())
    return problem.formula.position.learned_bias or (sharpened and not _bias_free(problem))


def _varied(problem: Problem) -> str:
    """The fused kernel takes one mask for all; a scope that draws its own from the query is not for it."""
    restricts = type(problem.formula.scope).restrict is not Scope.restrict
    return f"a scope that follows the query ({type(problem.formula.scope).__name__})" if restricts else ""


def _wasteful(problem: Problem) -> bool:
    """Whether the fused kernel would need a large mask drawn, or compute mostly what a mask hides."""
    if not _needs_dense(problem):
        return False
    batch, _, queries, keys = sizes_of(problem)
    return batch * queries * keys > MANY_MASKED or _in_view(problem) < FEW_IN_VIEW * queries * keys


def _needs_dense(problem: Problem) -> bool:
    if _purely_causal(problem):
        return False
    if not _bias_free(problem) or problem.mask.pairs is not None:
        return True
    return not problem.mask.all_in_band(problem.at_query, problem.at_key)


def _additive_mask(problem: Problem) -> Float[Tensor, "#B #H #Q K"] | None:
    """Bias where attention is allowed, minus infinity where it is not."""
    place = problem.whole
    allowed = problem.mask.block(place)
    bias = problem.formula.position.bias(problem.query, place)
    if bias is not None:
        bias = problem.formula.normalizer.sharpen(bias)
        return bias if allowed is None else bias.masked_fill(~allowed, -torch.inf)
    if allowed is None:
        return None
    zero = torch.zeros((), dtype=problem.query.dtype, device=problem.query.device)
    return torch.where(allowed, zero, -torch.inf)


def _fused_elsewhere(problem: Problem, asked: Tensor, bias: Tensor | None, causal: bool, scale: float) -> Result:
    """Other devices' kernels keep their log-sum-exp to themselves; taps compute it anew there."""
    grouped = problem.keys.shape[1] != asked.shape[1]
    context = F.scaled_dot_product_attention(
        asked, problem.keys, problem.values, attn_mask=bias, is_causal=causal, scale=scale, enable_gqa=grouped
    )
    return Result(context, lse=None)


class _Flash(torch.autograd.Function):
    """torch's flash attention for CPU with its log-sum-exp, and a plain word on second derivatives."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, causal: bool, scale: float
    ) -> Any:
        query, keys, values = _in_rows(query), _in_rows(keys), _in_rows(values)
        bias = None if bias is None else _in_rows(bias)
        context, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, keys, values, 0.0, causal, attn_mask=bias, scale=scale
        )
        ctx.save_for_backward(query, keys, values, context, lse, bias)
        ctx.causal, ctx.scale = causal, scale
        ctx.mark_non_differentiable(lse)
        return context, lse

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        _first_derivative_only("fused")
        query, keys, values, context, lse, bias = ctx.saved_tensors
        d_query, d_keys, d_values = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
            _in_rows(gradients[0]), query, keys, values, context, lse, 0.0, ctx.causal, attn_mask=bias, scale=ctx.scale
        )
        return d_query, d_keys, d_values, None, None, None


def _in_rows(tensor: Tensor) -> Tensor:
    """The operator reads each vector as if its numbers lay side by side, and never asks whether they do."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _first_derivative_only(kernel: str) -> None:
    # Autograd runs a backward with gradients on exactly when a graph of it was asked for.
    if torch.is_grad_enabled():
        raise ModelError(f"The {kernel} kernel has no second derivative; choose kernel 'reference' for create_graph.")


# --- chunked -------------------------------------------------------------------------------------------------------


def _blocks(problem: Problem) -> list[tuple[slice, list[slice]]]:
    """Stretches of rows, each with the stretches of keys that the mask's band lets it see."""
    batch, heads, queries, _ = sizes_of(problem)
    pairs = CHUNK_NUMBERS // (batch * heads * _per_pair(problem))
    high = min(CHUNK_ROWS, queries, max(CHUNK_LEAST, _even(math.isqrt(pairs))))
    wide = min(CHUNK_COLUMNS, max(CHUNK_LEAST, _even(pairs // high)))
    return [(rows, _stretches(_visible(problem, rows), wide)) for rows in _stretches(slice(0, queries), high)]


def _even(size: int) -> int:
    """The power of two at or below this size: matrices of odd sizes multiply slowly."""
    return 1 << max(0, size.bit_length() - 1)


def _per_pair(problem: Problem) -> int:
    """How many numbers a pair takes: a score that is no product may hold a vector as wide as a prepared key."""
    return 1 if isinstance(problem.formula.score, Product) else problem.keys.shape[-1]


def _visible(problem: Problem, rows: slice) -> slice:
    return problem.mask.visible(part(problem.at_query, rows), problem.at_key)


def _in_view(problem: Problem) -> int:
    """How many pairs the blocks hold."""
    return sum(_size(rows) * sum(map(_size, columns)) for rows, columns in _blocks(problem))


def _size(stretch: slice) -> int:
    return stretch.stop - stretch.start


def _stretches(whole: slice, size: int) -> list[slice]:
    starts = range(whole.start, whole.stop, size)
    return [slice(start, min(start + size, whole.stop)) for start in starts]


class _Chunked(torch.autograd.Function):
    """Forward keeps the context and each row's log-sum-exp; backward computes each block's weights again."""

    @staticmethod
    def forward(ctx: Any, problem: Problem, query: Tensor, keys: Tensor, values: Tensor, *parameters: Tensor) -> Any:
        context = query.new_empty(*query.shape[:3], values.shape[-1])
        lse = query.new_empty(query.shape[:3])
        for rows, columns in _blocks(problem):
            context[:, :, rows], lse[:, :, rows] = _forward_rows(problem, query[:, :, rows], rows, columns)
        ctx.problem, ctx.parameters = problem, parameters
        ctx.save_for_backward(query, keys, values, context, lse)
        ctx.mark_non_differentiable(lse)
        return context, lse

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        _first_derivative_only("chunked")
        query, keys, values, context, lse = ctx.saved_tensors
        given = [query, keys, values, *ctx.parameters]
        sums = [torch.zeros_like(tensor) if tensor.requires_grad or i < 3 else None for i, tensor in enumerate(given)]
        delta = (gradients[0] * context).sum(-1)
        for rows, columns in _blocks(ctx.problem):
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
        weights = _exponentials(scores.detach(), allowed, lse).requires_grad_()
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
