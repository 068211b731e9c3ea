"""Attention by the size of what it moves: a large weight on a small value moves little."""

from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.attention import MultiHeadAttention, Record, record
from regard.config import Settings
from regard.errors import RequestError
from regard.explain.asking import (
    MANY_WEIGHTS,
    Kind,
    Side,
    around,
    beside,
    chosen,
    heads,
    in_turn,
    mechanism,
    picture,
    probabilities,
    refuse_empty,
    scores,
    stack,
    still,
)
from regard.explain.attribution import Attribution
from regard.explain.paths import Blend, composed, followed, in_shares, refuse_single, steps
from regard.explain.rollout import Share
from regard.explain.subject import Look, Subject
from regard.explain.weights import plain

CAVEAT = "Sizes tell how much was moved, not whether what follows makes use of it."


class NormsSettings(Settings):
    """One layer, or all of them followed by rollout: the latter wherever there is self-attention, if none is named.

    One head, or the sum of what all heads move.
    """

    kind: Kind | None = None
    queries: Side | None = None
    layer: int | Literal["all"] | None = None
    head: int | Literal["sum"] = "sum"
    residual: Share = 0.5


def norms(subject: Subject, settings: NormsSettings) -> Attribution:
    """|sum_h A_h[q, k] W_o v_h[k]|   (Kobayashi et al. 2020)."""
    refuse_empty(subject)
    layer = followed(subject) if settings.layer is None else settings.layer
    if layer == "all":
        refuse_single(subject, "norms with layer = 'all'")
        blend = Blend(settings.residual, settings.residual)
        found = composed(subject, steps(subject, lambda look: in_shares(moved(subject, look, settings.head)), blend))
        outputs, inputs, told = subject.outputs, subject.inputs, f"all layers, residual {settings.residual}"
    else:
        looks = stack(subject, settings.kind, settings.queries)
        (look,) = chosen(looks, layer)
        outputs, inputs, found = picture(subject, look, moved(subject, look, settings.head))
        told = f"{look.kind}-attention, layer {layer % len(looks)} of {len(looks)}"
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
    asked, values, context = heads(subject, look, head), beside(look, "values"), beside(look, "context")
    with still(subject.model), record(subject.model, values, context, examples=[0]) as seen:
        scores(subject)
        given_HKD = _given(subject, look, [entry for entry in seen if entry.name == values])[asked]
        calls = [entry.tensor.shape[2] for entry in seen if entry.name == context]
    few = [None] if look.at else _few(calls, len(asked) * given_HKD.shape[1])
    maps = (_some(subject, look, asked, rows) for rows in few)
    return torch.cat([_lengths(weights_HQK, given_HKD) for weights_HQK in maps])


def _some(subject: Subject, look: Look, asked: Sequence[int], rows: Sequence[int] | None) -> Float[Tensor, "H Q K"]:
    """The weights of some rows, all heads of them."""
    with still(subject.model), record(subject.model, look.tap, heads=asked, rows=rows, examples=[0]) as seen:
        scores(subject)
    return in_turn(subject, look, seen)


def _few(calls: Sequence[int], row: int) -> Iterator[Sequence[int] | None]:
    """The rows of a layer that answers all at once, as many as one pass may hold; a decoder's steps all together."""
    if len(calls) > 1:
        yield None
        return
    size = max(1, MANY_WEIGHTS // row)
    for start in range(0, calls[0], size):
        yield range(start, min(start + size, calls[0]))


def _lengths(weights: Float[Tensor, "H Q K"], given: Float[Tensor, "H K D"]) -> Float[Tensor, "Q K"]:
    """|sum_h weight_h given_h|, a few queries at a time: no vector of every pair is kept."""
    size = max(1, MANY_WEIGHTS // (given.shape[1] * given.shape[2]))
    return torch.cat([torch.einsum("hqk,hkd->qkd", few, given).norm(dim=-1) for few in weights.split(size, dim=1)])


def _given(subject: Subject, look: Look, values: Sequence[Record]) -> Float[Tensor, "H K D"]:
    """Each head's values as they arrive in the layer's output; keys that came step by step, side by side."""
    attention, count = around(subject, look), mechanism(subject, look).sizes.heads
    values_GKE = torch.cat([entry.tensor[0] for entry in values], dim=1)
    if look.at:
        first = look.at[0][1]
        values_GKE = F.pad(values_GKE, (0, 0, first, len(subject.inputs) - first - values_GKE.shape[1]))
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
