"""Attention followed through all layers, each mixed with the residual that passes by it."""

from typing import Annotated, Literal

from pydantic import Field

from regard.config import Settings
from regard.explain.asking import Maps, probabilities, refuse_empty
from regard.explain.attribution import Attribution
from regard.explain.paths import Blend, composed, refuse_single, steps
from regard.explain.subject import Subject
from regard.explain.weights import elsewhere, plain

CAVEAT = "Rollout takes every layer for an average of positions: it sees neither values nor feed-forward layers."

Share = Annotated[float, Field(ge=0, le=1)]


class RolloutSettings(Settings):
    """The residual's share of each layer, and how heads are put together."""

    residual: Share = 0.5
    heads: Literal["mean", "max"] = "mean"


def rollout(subject: Subject, settings: RolloutSettings) -> Attribution:
    """prod_l (r I + (1 - r) mean_h A_l), through decoder, cross-attention and encoder   (Abnar and Zuidema 2020)."""
    refuse_empty(subject)
    refuse_single(subject, "rollout")
    maps = Maps(subject, settings.heads)
    through_OS = composed(subject, steps(subject, maps, Blend(settings.residual, settings.residual)))
    told = f"{len(subject.looks)} layers, {settings.heads} of heads, residual {settings.residual}"
    return Attribution(
        method="rollout",
        outputs=subject.outputs,
        inputs=subject.inputs,
        weights=plain(through_OS),
        source=told + elsewhere(through_OS),
        check=maps.check,
        caveat=CAVEAT,
        probabilities=probabilities(maps.scores),
    )
