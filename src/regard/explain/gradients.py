"""Attention weighed by what it does: each weight times how much the output's score would change with it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import replace
from regard.config import Settings
from regard.explain.asking import (
    Kind,
    Side,
    asked,
    attentive,
    chosen,
    differentiable,
    probabilities,
    refuse_empty,
    rows,
    scores,
    side_by_side,
    stack,
    still,
)
from regard.explain.attribution import Attribution
from regard.explain.paths import Blend, composed, in_shares, steps
from regard.explain.subject import Look, Subject
from regard.explain.weights import plain

CAVEAT = "A gradient tells of small changes of the weights only, and what speaks against an output is left out."


class AttentionGradientSettings(Settings):
    """Through all layers, or one layer of one attention."""

    layer: int | Literal["all"] = "all"
    kind: Kind | None = None
    queries: Side | None = None


@torch.inference_mode(False)
def attention_gradient(subject: Subject, settings: AttentionGradientSettings) -> Attribution:
    """mean_h max(0, A * d log p / d A), followed through the layers   (Chefer et al. 2021).

    Rows are taken for shares there: beside a whole residual, gradients of a model that is sure of itself would count
    for nothing. One layer alone is given as it is.
    """
    refuse_empty(subject)
    looks = list(attentive(subject))
    if settings.layer != "all":
        looks = chosen(stack(subject, settings.kind, settings.queries), settings.layer)
    with differentiable(subject.model), held(subject.model, [look.tap for look in looks]) as weights:
        scores_O = scores(subject)
        each = range(len(subject.outputs))
        found = [_of_output(subject, settings.layer, looks, weights, scores_O[output], output) for output in each]
    return Attribution(
        method="attention_gradient",
        outputs=subject.outputs,
        inputs=subject.inputs if settings.layer == "all" else asked(subject, looks[0]),
        weights=plain(torch.stack(found)),
        source=f"{len(looks)} of {len(subject.looks)} layers, mean of heads",
        check={"score": distance(subject, scores_O)},
        caveat=CAVEAT,
        probabilities=probabilities(scores_O),
    )


@contextmanager
def held(model: nn.Module, taps: Sequence[str]) -> Iterator[dict[str, list[Tensor]]]:
    """What passes these taps as it enters the graph, call by call; weights are built for it where no kernel does."""
    passed: dict[str, list[Tensor]] = {tap: [] for tap in taps}
    with ExitStack() as watches:
        for tap in taps:
            watches.enter_context(replace(model, tap, _keeping(passed[tap])))
        yield passed


def relevant(weights: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> Float[Tensor, "Q K"]:
    """The positive part of weight times gradient, the mean of its heads."""
    parts = [
        torch.zeros_like(one[0]) if gradient is None else (one.detach() * gradient)[0].clamp(min=0)
        for one, gradient in zip(weights, gradients, strict=True)
    ]
    return side_by_side(parts).mean(0)


def distance(subject: Subject, scores_O: Float[Tensor, " O"]) -> float:
    """How far scores from weights held in the graph are from those of the kernel the model runs."""
    with torch.no_grad(), still(subject.model):
        return float((scores(subject) - scores_O.detach()).abs().max())


def _keeping(kept: list[Tensor]) -> Callable[[Tensor], Tensor]:
    def keep(tensor: Tensor) -> Tensor:
        tensor = tensor if tensor.requires_grad else tensor.detach().requires_grad_()
        kept.append(tensor)
        return tensor

    return keep


def _of_output(
    subject: Subject,
    layer: int | str,
    looks: Sequence[Look],
    weights: dict[str, list[Tensor]],
    score: Float[Tensor, ""],
    output: int,
) -> Float[Tensor, " C"]:
    """What each input counts for one output."""
    flat = [one for look in looks for one in weights[look.tap]]
    gradients = torch.autograd.grad(score, flat, retain_graph=True, allow_unused=True)
    in_order = iter(gradients)
    maps = {look.tap: relevant(weights[look.tap], [next(in_order) for _ in weights[look.tap]]) for look in looks}
    if layer != "all":
        return _of_layer(subject, looks[0], maps[looks[0].tap], output)
    return composed(subject, steps(subject, lambda look: in_shares(maps[look.tap]), Blend()))[output]


def _of_layer(subject: Subject, look: Look, found: Float[Tensor, "Q K"], output: int) -> Float[Tensor, " C"]:
    """One layer's map for one output: its own row, or all rows where inputs look at each other."""
    row_K = found.sum(0) if look.queries == "inputs" else rows(subject, look, found)[output]
    return row_K[: len(asked(subject, look))]
