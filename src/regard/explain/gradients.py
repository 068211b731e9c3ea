"""Attention weighed by what it does: each weight times how much the output's score would change with it."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

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
    stack,
)
from regard.explain.attribution import Attribution
from regard.explain.paths import Blend, Mixing, apart, composed, in_shares, refuse_single, steps
from regard.explain.slopes import Slopes
from regard.explain.subject import Look, Subject
from regard.explain.weights import plain

CAVEAT = "A gradient tells of small changes of the weights only, and what speaks against an output is left out."


class AttentionGradientSettings(Settings):
    """Through all layers, or one layer of one attention; the latter where no attention leads to the outputs."""

    layer: int | Literal["all"] | None = None
    kind: Kind | None = None
    queries: Side | None = None


@torch.inference_mode(False)
def attention_gradient(subject: Subject, settings: AttentionGradientSettings) -> Attribution:
    """mean_h max(0, A * d log p / d A), followed through the layers   (Chefer et al. 2021).

    Rows are taken for shares there: beside a whole residual, gradients of a model that is sure of itself would count
    for nothing. One layer alone is given as it is.
    """
    refuse_empty(subject)
    looks, layer = list(attentive(subject)), settings.layer
    if layer is None:
        layer = -1 if apart(subject) else "all"
    if layer != "all":
        looks = chosen(stack(subject, settings.kind, settings.queries), layer)
    elif apart(subject):
        refuse_single(subject, "attention_gradient with layer = 'all'")
    with differentiable(subject.model):
        slopes = Slopes(subject, looks)
        found = [_of_output(subject, layer, looks, slopes(output), output) for output in range(len(subject.outputs))]
    return Attribution(
        method="attention_gradient",
        outputs=subject.outputs,
        inputs=subject.inputs if layer == "all" else asked(subject, looks[0]),
        weights=plain(torch.stack(found)),
        source=f"{len(looks)} of {len(subject.looks)} layers, mean of heads",
        check=slopes.check,
        caveat=CAVEAT,
        probabilities=probabilities(slopes.scores),
    )


def _of_output(
    subject: Subject, layer: int | str, looks: Sequence[Look], maps: Mixing, output: int
) -> Float[Tensor, " C"]:
    """What each input counts for one output."""
    if layer != "all":
        return _of_layer(subject, looks[0], maps(looks[0]), output)
    return composed(subject, steps(subject, lambda look: in_shares(maps(look)), Blend()))[output]


def _of_layer(subject: Subject, look: Look, found: Float[Tensor, "Q K"], output: int) -> Float[Tensor, " C"]:
    """One layer's map for one output: its own row, or all rows where inputs look at each other."""
    row_K = found.sum(0) if look.queries == "inputs" else rows(subject, look, found)[output]
    return row_K[: len(asked(subject, look))]
