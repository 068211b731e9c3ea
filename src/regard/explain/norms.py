"""Attention by the size of what it moves: a large weight on a small value moves little."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import MultiHeadAttention, Record, record
from regard.config import Settings
from regard.errors import RequestError
from regard.explain.asking import (
    MANY_WEIGHTS,
    Kind,
    Side,
    around,
    beside,
    by_head,
    chosen,
    heads,
    mechanism,
    picture,
    probabilities,
    refuse_empty,
    scores,
    stack,
    still,
)
from regard.explain.attribution import Attribution
from regard.explain.paths import Blend, composed, refuse_single, steps
from regard.explain.rollout import Share
from regard.explain.subject import Look, Subject
from regard.explain.weights import plain

CAVEAT = "Sizes tell how much was moved, not whether what follows makes use of it."


class NormsSettings(Settings):
    """One layer, or all of them followed by rollout; one head, or the sum of what all heads move."""

    kind: Kind | None = None
    queries: Side | None = None
    layer: int | Literal["all"] = -1
    head: int | Literal["sum"] = "sum"
    residual: Share = 0.5


def norms(subject: Subject, settings: NormsSettings) -> Attribution:
    """|sum_h A_h[q, k] W_o v_h[k]|   (Kobayashi et al. 2020, eq. 4)."""
    refuse_empty(subject)
    if settings.layer == "all":
        refuse_single(subject, "norms with layer = 'all'")
        blend = Blend(settings.residual, settings.residual)
        found = composed(subject, steps(subject, lambda look: in_shares(moved(subject, look, settings.head)), blend))
        outputs, inputs, told = subject.outputs, subject.inputs, f"all layers, residual {settings.residual}"
    else:
        looks = stack(subject, settings.kind, settings.queries)
        (look,) = chosen(looks, settings.layer)
        outputs, inputs, found = picture(subject, look, moved(subject, look, settings.head))
        told = f"{look.kind}-attention, layer {settings.layer % len(looks)} of {len(looks)}"
    with torch.no_grad(), still(subject.model):
        likely = probabilities(scores(subject))
    return Attribution(
        method="norms",
        outputs=outputs,
        inputs=inputs,
        weights=plain(found),
        source=f"{told}, {'all heads' if settings.head == 'sum' else f'head {settings.head}'}",
        caveat=CAVEAT,
        probabilities=likely if outputs is subject.outputs else None,
    )


@torch.no_grad()
def moved(subject: Subject, look: Look, head: int | str) -> Float[Tensor, "Q K"]:
    """The length of what each key gives each query, for one head or the sum of all."""
    _refuse(subject, look)
    asked = heads(subject, look, head)
    with still(subject.model), record(subject.model, beside(look, "values"), examples=[0]) as values:
        scores(subject)
    return _lengths(by_head(subject, look, asked), _given(subject, look, values)[asked])


def in_shares(found: Float[Tensor, "Q K"]) -> Float[Tensor, "Q K"]:
    """Rows that sum to one; zero where there is nothing."""
    return found / found.sum(-1, keepdim=True).clamp(min=torch.finfo(found.dtype).tiny)


def _lengths(weights: Sequence[Float[Tensor, "Q K"]], given: Float[Tensor, "H K D"]) -> Float[Tensor, "Q K"]:
    """|sum_h weight_h given_h|, a few queries at a time: no vector of every pair is kept."""
    size = max(1, MANY_WEIGHTS // (given.shape[1] * given.shape[2]))
    few = zip(*(one.split(size) for one in weights), strict=True)
    return torch.cat([torch.einsum("hqk,hkd->qkd", torch.stack(rows), given).norm(dim=-1) for rows in few])


def _given(subject: Subject, look: Look, values: Sequence[Record]) -> Float[Tensor, "H K D"]:
    """Each head's values as they arrive in the layer's output; keys that came step by step, side by side."""
    attention, count = around(subject, look), mechanism(subject, look).sizes.heads
    values_GKE = torch.cat([entry.tensor[0] for entry in values], dim=1)
    values_HKE = values_GKE.repeat_interleave(count // values_GKE.shape[0], dim=0)
    if not isinstance(attention, MultiHeadAttention):
        return values_HKE
    nothing = values_HKE.new_zeros(count * values_HKE.shape[-1])
    slots_HKD = torch.stack([_in_slot(one, number, count) for number, one in enumerate(values_HKE)])
    # The projection's own bias belongs to no key.
    return attention.output(slots_HKD) - attention.output(nothing)


def _in_slot(values: Float[Tensor, "K E"], head: int, count: int) -> Float[Tensor, "K D"]:
    """One head's values where the output projection expects them, zeros in all other heads' places."""
    slots_KHE = values.new_zeros(values.shape[0], count, values.shape[1])
    slots_KHE[:, head] = values
    return slots_KHE.flatten(1)


def _refuse(subject: Subject, look: Look) -> None:
    if around(subject, look).answer.explicit or mechanism(subject, look).position.mixes:
        raise RequestError(
            "norms needs values that do not depend on who asks, and this attention changes them for each query "
            "(output 'scored' or relative positions); use weights, attention_gradient or value_zeroing."
        )
