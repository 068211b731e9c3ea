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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from regard.attention.chunks import Chunked, exponentials, first_derivative_only, in_view, per_pair
from regard.attention.dropout import Marks
from regard.attention.normalizers import Softmax
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
    how, tensors = How(causal, scale, problem.marks), (asked_BHQE, problem.keys, problem.values, bias)
    context, lse = _Flash.apply(*tensors, flash_of(problem), how)  # type: ignore[no-untyped-call]
    return Result(context, lse=lse)


def chunked(problem: Problem) -> Result:
    """Online softmax over blocks of keys   (Milakov and Gimelshein 2018; Dao et al. 2022), recomputed in backward."""
    parameters = tuple(problem.formula.parameters())
    # Rows are numbered once for all blocks.
    problem = replace(problem, rows=problem.row_numbers)
    context, lse = Chunked.apply(problem, problem.query, problem.keys, problem.values, *parameters)  # type: ignore[no-untyped-call]
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
    many = weights > MANY_WEIGHTS or weights * per_pair(problem) > MANY_NUMBERS
    return "chunked" if many and not chunked_refuses(problem) else "reference"


def fused_refuses(problem: Problem) -> str:
    """Why the fused kernel cannot compute this, or nothing."""
    formula = problem.formula
    if not isinstance(formula.score, Product):
        return f"a score that is no product ({type(formula.score).__name__})"
    if problem.dropout is not None and not flash_of(problem).drops:
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
    weights = exponentials(problem.whole_scores(), allowed, lse)
    return problem.used(weights, problem.query, problem.whole)


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
    return batch * queries * keys > MANY_MASKED or in_view(problem) < FEW_IN_VIEW * queries * keys


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


class Flash(NamedTuple):
    """Fused attention on a processor: query, keys, values, bias and how to the context and the scores' log-sum-exp; and
    the gradients, from the context's, all those tensors, and how. Whether it drops weights."""

    forward: Callable[..., tuple[Tensor, Tensor]]
    backward: Callable[..., tuple[Tensor, Tensor, Tensor]]
    drops: bool = False


class How(NamedTuple):
    """What is asked of it besides: nobody looks ahead, products times a scale, weights that are dropped."""

    causal: bool
    scale: float
    marks: Marks | None = None


Chooser = Callable[[Tensor, Tensor, Tensor], Flash | None]
_instead: ContextVar[Chooser | None] = ContextVar("instead", default=None)


@contextmanager
def flash_by(choose: Chooser) -> Iterator[None]:
    """Inside, what `choose` names stands in for torch's kernel; its context and log-sum-exp are what watchers see."""
    token = _instead.set(choose)
    try:
        yield
    finally:
        _instead.reset(token)


def _forward(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, how: How) -> tuple[Tensor, Tensor]:
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return flash(query, keys, values, 0.0, how.causal, attn_mask=bias, scale=how.scale)


def _backward(
    d_context: Tensor,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    context: Tensor,
    lse: Tensor,
    bias: Tensor | None,
    how: How,
) -> tuple[Tensor, Tensor, Tensor]:
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    tensors = d_context, query, keys, values, context, lse
    return flash(*tensors, 0.0, how.causal, attn_mask=bias, scale=how.scale)


TORCHS = Flash(_forward, _backward)


def flash_of(problem: Problem) -> Flash:
    """Whose kernel computes this: torch's, unless somebody's stands in for it."""
    choose = _instead.get()
    return (choose and choose(problem.query, problem.keys, problem.values)) or TORCHS


class _Flash(torch.autograd.Function):
    """A kernel that gives its log-sum-exp, and a plain word on second derivatives."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, flash: Flash, how: How
    ) -> Any:
        query, keys, values = _in_rows(query), _in_rows(keys), _in_rows(values)
        bias = None if bias is None else _in_rows(bias)
        context, lse = flash.forward(query, keys, values, bias, how)
        ctx.save_for_backward(query, keys, values, context, lse, bias)
        ctx.flash, ctx.how = flash, how
        ctx.mark_non_differentiable(lse)
        return context, lse

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        first_derivative_only("fused")
        query, keys, values, context, lse, bias = ctx.saved_tensors
        d_tensors = ctx.flash.backward(_in_rows(gradients[0]), query, keys, values, context, lse, bias, ctx.how)
        return *d_tensors, None, None, None


def _in_rows(tensor: Tensor) -> Tensor:
    """The operator reads each vector as if its numbers lay side by side, and never asks whether they do."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()
