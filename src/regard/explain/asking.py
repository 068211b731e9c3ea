"""What the methods ask of a subject in the same way: which attention is meant, what it put where, what came out.

Rows and columns of an attention layer, and what they stand for:

- queries "outputs": its last O rows, one an output; rows before them, if any, read the inputs (a language model).
- queries "one": one row for the whole text, whatever is put out.
- keys "inputs": its first S columns; columns after them, if any, are outputs written before.
- keys "outputs": one column a place of the decoder, which holds the output before it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from traceback import clear_frames
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Attention, Mechanism, MultiHeadAttention, Record, record
from regard.attention import replace as replace_at
from regard.config import Settings
from regard.errors import ModelError, RequestError
from regard.explain.attribution import Axis, Unit
from regard.explain.subject import Look, Subject

Kind = Literal["cross", "self", "pool"]
Side = Literal["inputs", "outputs", "one"]

# Weights rebuilt in one pass of the model: about 16 MB, and five times that while they are checked.
MANY_WEIGHTS = 1 << 22
# Pieces in one pass over several versions of the inputs.
MANY_PIECES = 1 << 12
# What recorded weights are checked for.
CHECKED = ("row_sum", "padding", "output")
# The methods that are left to a model without attention.
WITHOUT_ATTENTION = ("input_gradient", "integrated_gradients", "occlusion")


class Choice(Settings):
    """Which attention: what kind, asked by whom, in which layer and head; `mean` and `max` take all of them.

    Without a kind it is what outputs look at inputs with: cross-attention, else pooling, else self-attention.
    """

    kind: Kind | None = None
    queries: Side | None = None
    layer: int | Literal["mean", "max"] = -1
    head: int | Literal["mean", "max"] = "mean"


@dataclass(frozen=True)
class Seen:
    """One attention map, what was checked of it, and the scores of the same pass."""

    map: Float[Tensor, "Q K"]
    check: dict[str, float]
    scores: Float[Tensor, " O"]


@contextmanager
def still(model: nn.Module) -> Iterator[None]:
    """The model without dropout, put back as it was afterwards, each part for itself."""
    training = [module for module in _modules(model) if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _modules(model: nn.Module) -> Iterator[nn.Module]:
    """Every part of a model; `modules()` of torch passes each through as many generators as it is deep."""
    waiting, known = [model], set[nn.Module]()
    while waiting:
        module = waiting.pop()
        if module not in known:
            known.add(module)
            waiting.extend(module.children())
            yield module


@contextmanager
def differentiable(model: nn.Module) -> Iterator[None]:
    """The model without dropout and with gradients, whatever whoever asks has switched off.

    Not of parameters: nothing is kept for gradients that nobody asks for.
    """
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with still(model), torch.enable_grad():
        try:
            for parameter in learning:
                parameter.requires_grad_(False)
            yield
        finally:
            for parameter in learning:
                parameter.requires_grad_(True)


def refuse_empty(subject: Subject) -> None:
    if all(unit.special for unit in subject.inputs.units):
        raise RequestError("There is no text to explain: give at least one word.")
    if len(subject.outputs) == 0:
        raise RequestError("Nothing was put out, so there is nothing to explain; give a text that has an answer.")


def scores(subject: Subject) -> Float[Tensor, " O"]:
    """log p of each output as it is."""
    return subject.scores(subject.pieces[None])[0]


def probabilities(scores: Float[Tensor, " O"]) -> tuple[float, ...]:
    return tuple(scores.detach().exp().tolist())


def stack(subject: Subject, kind: Kind | None = None, queries: Side | None = None) -> list[Look]:
    """The layers of one attention, first to last; of two stacks that answer to it, the later."""
    looks = attentive(subject)
    kinds = {look.kind for look in looks}
    kind = kind or next(known for known in ("cross", "pool", "self") if known in kinds)
    found = [look for look in looks if look.kind == kind]
    if not found:
        raise RequestError(f"This model has no {kind} attention; it has {_listed(kinds)}.")
    queries = queries or found[-1].queries
    layers = sorted((look for look in found if look.queries == queries), key=lambda look: look.layer)
    if not layers:
        sides = {look.queries for look in found}
        raise RequestError(f"No {kind} attention of this model is asked by {queries}; it is by {_listed(sides)}.")
    return layers


def attentive(subject: Subject) -> tuple[Look, ...]:
    if not subject.looks:
        offered = ", ".join(WITHOUT_ATTENTION)
        raise RequestError(f"This model has no attention, which this method reads; use one of {offered}.")
    return subject.looks


def chosen(looks: Sequence[Look], layer: int | str) -> list[Look]:
    """The layer asked for, counted from the end below zero, or all of them."""
    if isinstance(layer, str):
        return list(looks)
    return [looks[_within("layer", layer, len(looks))]]


def mechanism(subject: Subject, look: Look) -> Mechanism:
    found = subject.model.get_submodule(look.tap.rpartition(".")[0])
    if not isinstance(found, Mechanism):
        raise ModelError(f"{look.tap} is no tap of an attention's weights; name it to the end.")
    return found


def around(subject: Subject, look: Look) -> MultiHeadAttention | Attention:
    """The attention whose mechanism is looked at."""
    found = subject.model.get_submodule(look.tap.removesuffix(".mechanism.weights"))
    if not isinstance(found, MultiHeadAttention | Attention):
        raise ModelError(f"{look.tap} is not inside an attention; name the tap to the end.")
    return found


def beside(look: Look, tap: str) -> str:
    """Another tap of the same mechanism."""
    return f"{look.tap.rpartition('.')[0]}.{tap}"


def heads(subject: Subject, look: Look, head: int | str) -> list[int]:
    count = mechanism(subject, look).sizes.heads
    return list(range(count)) if isinstance(head, str) else [_within("head", head, count)]


def seen(subject: Subject, look: Look, head: int | str = "mean") -> Seen:
    """The weights of one layer, heads put together as they come so that few are held at once."""
    numbers = heads(subject, look, head)
    parts = (
        Seen(_over_heads(in_turn(subject, look, records), head), worst(records), found_O)
        for found_O, records in looked(subject, look, numbers)
    )
    whole = reduce(partial(_both, head), parts)
    return whole if head == "max" else replace(whole, map=whole.map / len(numbers))


def looked(subject: Subject, look: Look, numbers: list[int]) -> Iterator[tuple[Float[Tensor, " O"], list[Record]]]:
    """The scores and what was recorded of some heads, then of the next, as many as one pass may hold."""
    size = max(1, MANY_WEIGHTS // (len(subject.inputs) + len(subject.outputs)) ** 2)
    with _looking(subject, look, numbers[:size]) as records:
        found_O = scores(subject)
    calls = len(records)
    yield found_O, records
    for start in range(size, len(numbers), size):
        few = numbers[start : start + size]
        with _looking(subject, look, few) as records, up_to(subject, beside(look, "context"), calls):
            scores(subject)
        yield found_O, records


@contextmanager
def _looking(subject: Subject, look: Look, few: list[int]) -> Iterator[list[Record]]:
    with torch.no_grad(), still(subject.model), record(subject.model, look.tap, heads=few, examples=[0]) as records:
        yield records


class _Enough(Exception):
    """A tap has been passed by all that is looked at; what comes after it need not be computed."""


@contextmanager
def up_to(subject: Subject, tap: str, calls: int) -> Iterator[None]:
    """Passes of the model inside end with so many calls of a tap; entered last, it leaves others at the tap theirs."""
    left = calls

    def stop(tensor: Tensor) -> Tensor:
        nonlocal left
        left -= 1
        if not left:
            raise _Enough
        return tensor

    try:
        with replace_at(subject.model, tap, stop):
            yield
    except _Enough as enough:
        # Otherwise what the pass held would live until somebody collects garbage.
        clear_frames(enough.__traceback__)


def by_head(subject: Subject, look: Look, numbers: list[int]) -> list[Float[Tensor, "Q K"]]:
    """The weights of some heads of one layer, each for itself."""
    return [one for _, records in looked(subject, look, numbers) for one in in_turn(subject, look, records)]


class Maps:
    """The maps of layers as they are asked for, with the worst of their checks and the scores beside them."""

    def __init__(self, subject: Subject, head: int | str = "mean") -> None:
        self.subject, self.head = subject, head
        self.check: dict[str, float] = {}
        self.scores: Float[Tensor, " O"]

    def __call__(self, look: Look) -> Float[Tensor, "Q K"]:
        found = seen(self.subject, look, self.head)
        self.check = worse(self.check, found.check)
        self.scores = found.scores
        return found.map


def in_turn(subject: Subject, look: Look, records: Sequence[Record]) -> Float[Tensor, "H Q K"]:
    """All calls of a layer as one map."""
    if not records:
        raise ModelError(
            f"Nothing passed {look.tap} while this was scored; the subject names a layer that is not used."
        )
    return side_by_side(subject, look, [entry.tensor[0] for entry in records])


def side_by_side(subject: Subject, look: Look, maps: Sequence[Float[Tensor, "H _ _"]]) -> Float[Tensor, "H Q K"]:
    """The steps of a decoder below one another, its past growing or not; parts of the inputs where they stand."""
    if look.at:
        return _in_place(maps, look, len(subject.inputs))
    widest = max(one.shape[-1] for one in maps)
    return torch.cat([F.pad(one, (0, widest - one.shape[-1])) for one in maps], dim=1)


def _in_place(maps: Sequence[Float[Tensor, "H _ _"]], look: Look, inputs: int) -> Float[Tensor, "H Q K"]:
    whole_HQK = maps[0].new_zeros(len(maps[0]), 1 if look.queries == "one" else inputs, inputs)
    for (row, column), one in zip(look.at, maps, strict=True):
        whole_HQK[:, row : row + one.shape[1], column : column + one.shape[2]] = one
    return whole_HQK


def rows(subject: Subject, look: Look, found: Float[Tensor, "Q K"]) -> Float[Tensor, "R K"]:
    """The rows that stand for something to be shown: outputs, or inputs where inputs look at each other."""
    if look.queries == "one":
        return found.mean(0, keepdim=True).expand(len(subject.outputs), -1)
    return found[-len(subject.outputs) :] if look.queries == "outputs" else found[: len(subject.inputs)]


def picture(subject: Subject, look: Look, found: Float[Tensor, "Q K"]) -> tuple[Axis, Axis, Float[Tensor, "R C"]]:
    """A map with the axes it is of."""
    asking, columns = subject.inputs if look.queries == "inputs" else subject.outputs, asked(subject, look)
    return asking, columns, rows(subject, look, found)[:, : len(columns)]


def asked(subject: Subject, look: Look) -> Axis:
    return subject.inputs if look.keys == "inputs" else behind(subject.outputs)


def behind(outputs: Axis) -> Axis:
    """What stands at each place of a decoder: the output before the one it writes."""
    return Axis(outputs.text, (Unit("<begin>", None, True), *outputs.units[:-1]))


def _over_heads(maps: Float[Tensor, "H Q K"], head: int | str) -> Float[Tensor, "Q K"]:
    return maps.amax(0) if head == "max" else maps.sum(0)


def _both(head: int | str, one: Seen, other: Seen) -> Seen:
    return Seen(_over_heads(torch.stack([one.map, other.map]), head), worse(one.check, other.check), other.scores)


def worst(records: Sequence[Record]) -> dict[str, float]:
    """How far recorded weights are from what they claim to be."""
    found = [entry.check for entry in records if entry.check is not None]
    return {name: max(getattr(one, name) for one in found) for name in CHECKED if found}


def worse(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: max(value, one.get(name, 0.0)) for name, value in other.items()}


def _within(what: str, number: int, count: int) -> int:
    if not -count <= number < count:
        known = "only 0" if count == 1 else f"0 to {count - 1}, or -1 for the last"
        raise RequestError(f"There is no {what} {number}: this attention has {known}.")
    return number % count


def _listed(names: set[str] | set[Kind] | set[Side]) -> str:
    return " and ".join(sorted(names))
