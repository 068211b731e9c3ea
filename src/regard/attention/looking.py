"""What a watcher of weights or scores sees: rebuilt from the kernel's tensors, cut to what was asked, checked."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.beams import spread_back
from regard.attention.kernels import Result, used_weights
from regard.attention.normalizers import Allowed
from regard.attention.problem import Problem
from regard.attention.taps import Check, Record, Selection, Tap


@torch.no_grad()
def look(scores: Tap, weights: Tap, problem: Problem, result: Result) -> None:
    """Hand each watcher exactly what it asked for; nothing of it enters the graph."""
    with torch.autocast(problem.query.device.type, enabled=False):
        _look(scores, weights, problem, result)


def _look(scores: Tap, weights: Tap, problem: Problem, result: Result) -> None:
    for watch, step in scores.asked():
        watch.seen.append(Record(scores.name, step, _scores(problem, result, watch.selection), scores.axes))
    for watch, step in weights.asked():
        used, check = _weights(problem, result, watch.selection)
        if not weights.replaced:
            check.verify(weights.name)
        watch.seen.append(Record(weights.name, step, used, weights.axes, check))


def _scores(problem: Problem, result: Result, selection: Selection) -> Float[Tensor, "B H Q K"]:
    if result.scores is not None:
        return _picked(result.scores, problem, selection)
    narrow = _narrow(problem, selection)
    return narrow.scores(narrow.query, narrow.keys, narrow.whole)


def _weights(problem: Problem, result: Result, selection: Selection) -> tuple[Float[Tensor, "B H Q K"], Check]:
    narrow, context = _narrow(problem, selection), _picked(result.context, problem, selection)
    allowed = narrow.allowed(narrow.query, narrow.whole)
    if result.used is not None:
        used = _picked(result.used, problem, selection)
        return used, check(narrow, used, context, allowed)
    lse = _log_sum(narrow, problem, result, selection, allowed)
    used = used_weights(narrow, lse, allowed)
    # What scores and log-sum-exp lose to rounding grows with them; that of a dead row is infinite and loses nothing.
    size = lse.masked_fill(lse.isinf(), 0.0).abs().max().clamp(min=1.0)
    return used, check(narrow, used, context, allowed, float(size))


def _log_sum(
    narrow: Problem, problem: Problem, result: Result, selection: Selection, allowed: Allowed
) -> Float[Tensor, "B H Q"]:
    if result.lse is not None:
        return _picked(result.lse[..., None], problem, selection).squeeze(-1)
    scores = narrow.whole_scores()
    return (scores if allowed is None else scores.masked_fill(~allowed, -torch.inf)).logsumexp(-1)


def check(
    problem: Problem,
    used: Float[Tensor, "B H Q K"],
    context: Float[Tensor, "B H Q W"],
    allowed: Allowed,
    size: float = 1.0,
) -> Check:
    """Rows sum to what the scope promises, nothing lies on padding, and weights x values is what came out."""
    rebuilt_BHQW = problem.mixed(used.to(problem.values.dtype), problem.values, problem.whole)
    distance = float((rebuilt_BHQW - context).abs().max()) / max(1.0, float(context.abs().max()))
    padding = 0.0 if allowed is None else float((used * ~allowed).abs().max())
    tolerance = max(1e-4, 4 * torch.finfo(context.dtype).eps, 4 * torch.finfo(used.dtype).eps * size)
    return Check(_row_error(problem, used, allowed), padding, distance, tolerance)


def explicit_check(used: Float[Tensor, "B H Q K"], allowed: Bool[Tensor, "B H Q K"]) -> Check:
    """The check of weights from which the output was made directly, so that it cannot differ from them."""
    off_BHQ = used.sum(-1) - allowed.any(-1).to(used.dtype)
    tolerance = max(1e-4, 4 * torch.finfo(used.dtype).eps)
    return Check(float(off_BHQ.abs().max()), float((used * ~allowed).abs().max()), 0.0, tolerance)


def _row_error(problem: Problem, used: Float[Tensor, "B H Q K"], allowed: Tensor | None) -> float:
    """How far the rows' sums stray; under dropout they are one only on average, so only signs are held to account."""
    negative = (-used.amin()).clamp(min=0.0)
    if problem.dropout is not None:
        return float(negative)
    sums_BHQ = used.sum(-1)
    if problem.formula.scope.total == "at most one":
        return float(torch.maximum(negative, (sums_BHQ - 1.0).max()))
    alive = 1.0 if allowed is None else allowed.any(-1).to(used.dtype)
    return float(torch.maximum(negative, (sums_BHQ - alive).abs().max()))


def _narrow(problem: Problem, selection: Selection) -> Problem:
    batch, heads, queries, _ = problem.query.shape
    if problem.beams == 1 and selection.examples is None and selection.heads is None and selection.rows is None:
        return problem.widened()
    device, beams = problem.query.device, problem.beams
    chosen_H, chosen_Q = selection.index("H", heads, device), selection.index("Q", queries // beams, device)
    return problem.narrowed(chosen_H, chosen_Q, selection.index("B", batch * beams, device)).widened()


def _picked(tensor: Float[Tensor, "B H Q X"], problem: Problem, selection: Selection) -> Tensor:
    tensor = spread_back(tensor, problem.beams)
    for dimension, axis in enumerate("BHQ"):
        if selection.along(axis) is not None:
            tensor = tensor.index_select(dimension, selection.index(axis, tensor.shape[dimension], tensor.device))
    return tensor.detach().clone()
