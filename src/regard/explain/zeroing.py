"""What a layer loses when one value is taken from it."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.attention import Record, record, replace, taps
from regard.config import Settings
from regard.errors import ModelError
from regard.explain.asking import (
    MANY_PIECES,
    Kind,
    Side,
    beside,
    chosen,
    picture,
    probabilities,
    refuse_empty,
    scores,
    side_by_side,
    stack,
    still,
    up_to,
)
from regard.explain.attribution import Attribution
from regard.explain.paths import Blend, composed, followed, in_shares, refuse_single, steps
from regard.explain.rollout import Share
from regard.explain.subject import Look, Subject
from regard.explain.weights import plain

CAVEAT = "A layer may carry a value on that no later layer reads; and a model never saw values of zero in training."


class ZeroingSettings(Settings):
    """One layer, or all of them followed by rollout: the latter wherever there is self-attention, if none is named.

    Taking away a position's own value leaves what passes by the layer, so that is no part of the distance: `residual`
    is its share. Mohebbi et al. have 0, which loses the place of a word after a few layers.
    """

    layer: int | Literal["all"] | None = None
    kind: Kind | None = None
    queries: Side | None = None
    residual: Share = 0.5


def value_zeroing(subject: Subject, settings: ZeroingSettings) -> Attribution:
    """1 - cos(x_q, x_q without value k), x the layer's output   (Mohebbi et al. 2023)."""
    refuse_empty(subject)
    layer = followed(subject) if settings.layer is None else settings.layer
    if layer == "all":
        refuse_single(subject, "value_zeroing with layer = 'all'")
        # What crosses has a stream of its own beside it, whatever the residual.
        layers = steps(subject, lambda look: in_shares(lost(subject, look)), Blend(kept=settings.residual))
        outputs, inputs, found = subject.outputs, subject.inputs, composed(subject, layers)
        told = f"{len(subject.looks)} layers, residual {settings.residual}"
    else:
        looks = stack(subject, settings.kind, settings.queries)
        (look,) = chosen(looks, layer)
        outputs, inputs, found = picture(subject, look, lost(subject, look))
        told = f"{look.kind}-attention, layer {layer % len(looks)} of {len(looks)}"
    with torch.no_grad(), still(subject.model):
        likely = probabilities(scores(subject))
    return Attribution(
        method="value_zeroing",
        outputs=outputs,
        inputs=inputs,
        weights=plain(found),
        source=told,
        caveat=CAVEAT,
        probabilities=likely if outputs is subject.outputs else None,
    )


@torch.no_grad()
def lost(subject: Subject, look: Look) -> Float[Tensor, "Q K"]:
    """How far each query's output turns when each key's value is zero."""
    tap = watched(subject, look)
    with still(subject.model), record(subject.model, beside(look, "values"), examples=[0]) as values:
        with record(subject.model, tap, examples=[0]) as whole:
            scores(subject)
        keys = sum(entry.tensor.shape[2] for entry in values)
        columns = [_turned(subject, look, tap, few, whole) for few in _few(keys, len(subject.pieces))]
    found_QK = torch.cat(columns).T.contiguous()
    # Keys of several calls were zeroed each in its own, which put them in their places.
    return side_by_side(subject, look, [found_QK[None]])[0] if len(look.at) == 1 else found_QK


def watched(subject: Subject, look: Look) -> str:
    """The tap of the layer's output: its block's, or where it is in no block its context."""
    block = re.match(r"(.*\bblocks\.\d+)\.", look.tap)
    if block and f"{block[1]}.output" in taps(subject.model):
        return f"{block[1]}.output"
    return beside(look, "context")


def _turned(
    subject: Subject, look: Look, tap: str, few: Sequence[int], whole: Sequence[Record]
) -> Float[Tensor, "N Q"]:
    """The distance at every query with one value gone, for a few values at once."""
    values = beside(look, "values")
    with (
        replace(subject.model, values, _Zero(few)),
        record(subject.model, tap) as seen,
        up_to(subject, tap, len(whole)),
    ):
        subject.scores(subject.pieces.expand(len(few), -1))
    return (1.0 - F.cosine_similarity(_vectors(seen), _vectors(whole), dim=-1)).clamp(min=0)


class _Zero:
    """In version n, the value of key few[n] is zero; keys are counted over all calls."""

    def __init__(self, few: Sequence[int]) -> None:
        self.few, self.passed = few, 0

    def __call__(self, values: Float[Tensor, "N G K E"]) -> Float[Tensor, "N G K E"]:
        if len(values) != len(self.few):
            raise ModelError(f"{len(self.few)} versions were to be scored at once, and {len(values)} were.")
        places_N = torch.tensor(self.few, device=values.device) - self.passed
        self.passed += values.shape[2]
        gone_NK = places_N[:, None] == torch.arange(values.shape[2], device=values.device)
        return values.masked_fill(gone_NK[:, None, :, None], 0.0)


def _vectors(records: Sequence[Record]) -> Float[Tensor, "N Q D"]:
    """What passed a block's tap or a mechanism's, all heads side by side, calls in turn."""
    parts = [entry.tensor.transpose(1, 2).flatten(2) if entry.axes == "BHQE" else entry.tensor for entry in records]
    return torch.cat(parts, dim=1)


def _few(count: int, length: int) -> Iterator[list[int]]:
    size = max(1, MANY_PIECES // length)
    for start in range(0, count, size):
        yield list(range(start, min(start + size, count)))
