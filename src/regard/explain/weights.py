"""The attention itself: what one layer and head, or all of them together, put where."""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.explain.asking import Choice, Maps, chosen, heads, picture, probabilities, refuse_empty, stack
from regard.explain.attribution import Attribution
from regard.explain.subject import Look, Subject

CAVEAT = "Attention shows what was looked at, not whether it mattered: other weights may give the same output."


class WeightsSettings(Choice):
    """Which attention is shown."""


def weights(subject: Subject, settings: WeightsSettings) -> Attribution:
    """weights[o, i] = what output o's query put on input i   (Bahdanau et al. 2015)."""
    refuse_empty(subject)
    looks = stack(subject, settings.kind, settings.queries)
    maps = Maps(subject, settings.head)
    found = _together([maps(look) for look in chosen(looks, settings.layer)], settings.layer)
    outputs, inputs, shown = picture(subject, looks[0], found)
    return Attribution(
        method="weights",
        outputs=outputs,
        inputs=inputs,
        weights=plain(shown),
        source=told(subject, looks, settings) + elsewhere(shown),
        check=maps.check,
        caveat=CAVEAT,
        probabilities=None if looks[0].queries == "inputs" else probabilities(maps.scores),
        layer=_number(settings.layer, len(looks)),
        head=_number(settings.head, len(heads(subject, looks[0], "mean"))),
    )


def _number(asked: int | str, count: int) -> int | None:
    """Which of so many, counted from 0; none where several are put together."""
    return None if isinstance(asked, str) else asked % count


def told(subject: Subject, looks: list[Look], settings: Choice) -> str:
    """Where the weights were taken from, in words."""
    look, depth = looks[0], len(looks)
    kind = {"cross": "cross-attention", "self": f"self-attention of the {look.queries}", "pool": "pooling"}[look.kind]
    layer = f"{settings.layer} of {depth} layers"
    if not isinstance(settings.layer, str):
        layer = f"layer {settings.layer % depth} of {depth}"
    count = len(heads(subject, look, "mean"))
    head = f"{settings.head} of {count} heads" if count > 1 else "its one head"
    if not isinstance(settings.head, str):
        head = f"head {settings.head % count} of {count}"
    return f"{kind}, {layer}, {head}"


def elsewhere(shown: Float[Tensor, "R C"]) -> str:
    """What is not on the columns shown: outputs written before, or nothing; of rows that look at something."""
    sums_R = shown.sum(-1)
    rest = 1.0 - float(sums_R[sums_R > 0].mean()) if (sums_R > 0).any() else 1.0
    return f"; {rest:.2f} of the weight is on nothing or on earlier outputs" if rest > 0.005 else ""


def plain(tensor: Float[Tensor, "R C"]) -> Float[np.ndarray, "R C"]:
    return tensor.detach().float().cpu().numpy()


def _together(maps: list[Tensor], layer: int | Literal["mean", "max"]) -> Float[Tensor, "Q K"]:
    stacked_LQK = torch.stack(maps)
    return stacked_LQK.amax(0) if layer == "max" else stacked_LQK.mean(0)
