"""What would be put out if a head were off, or one cell of attention were otherwise."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import replace
from regard.errors import RequestError, unknown
from regard.explain.asking import attentive, chosen, heads, scores, seen, stack, still
from regard.explain.heads import silenced
from regard.explain.subject import Look, Subject

# A layer of the attention with which outputs look at inputs, or the name of any attention's tap.
Where: TypeAlias = int | str


class Cell(NamedTuple):
    """One weight that is set: the others of its row are scaled so that they sum to what they did together with it.

    A row stands for an output or an input, as in pictures; without a head it is set in all of them.
    """

    look: Where
    row: int
    column: int
    value: float
    head: int | None = None


@dataclass(frozen=True)
class Told:
    """What was read and put out: texts, the units of the output, log p of each."""

    source: str
    text: str
    outputs: tuple[str, ...]
    scores: tuple[float, ...]

    @property
    def probabilities(self) -> tuple[float, ...]:
        return tuple(torch.tensor(self.scores, dtype=torch.float64).exp().tolist())

    def plain(self) -> dict[str, Any]:
        told = {"source": self.source, "text": self.text, "outputs": list(self.outputs)}
        return told | {"scores": list(self.scores), "probabilities": list(self.probabilities)}


@dataclass(frozen=True)
class WhatIf:
    """Before and after a change, and by how much the change moves log p of what was put out before."""

    before: Told
    after: Told
    # For each output of before, and their sum; None where that cannot be put out any more, as `note` says.
    changes: tuple[float, ...] | None
    note: str = ""

    @property
    def change(self) -> float | None:
        return None if self.changes is None else sum(self.changes)

    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        changes = None if self.changes is None else list(self.changes)
        sides = {"before": self.before.plain(), "after": self.after.plain()}
        return sides | {"changes": changes, "change": self.change, "note": self.note}


def found(subject: Subject, where: Where) -> Look:
    """The attention that is meant."""
    if isinstance(where, int):
        return chosen(stack(subject), where)[0]
    looks = {look.tap: look for look in attentive(subject)}
    hits = [look for tap, look in looks.items() if where in (tap, tap.removesuffix(".mechanism.weights"))]
    if not hits:
        raise RequestError(unknown("attention", where, looks))
    return hits[0]


@contextmanager
def off(subject: Subject, heads_off: Sequence[tuple[Where, int]]) -> Iterator[None]:
    """The model with these heads putting out nothing, while anything is done with it."""
    by_look: dict[Look, list[int]] = {}
    for where, head in heads_off:
        look = found(subject, where)
        by_look.setdefault(look, []).extend(heads(subject, look, head))
    with ExitStack() as changes:
        for look, numbers in by_look.items():
            changes.enter_context(silenced(subject, look, numbers))
        yield


@torch.no_grad()
def rescored(
    subject: Subject, heads_off: Sequence[tuple[Where, int]] = (), cell: Cell | None = None
) -> tuple[float, ...]:
    """log p of each output of the subject with heads off and a cell set."""
    with still(subject.model), off(subject, heads_off), ExitStack() as changes:
        if cell is not None:
            changes.enter_context(_set(subject, cell))
        return tuple(scores(subject).tolist())


def told(subject: Subject, found_O: Sequence[float]) -> Told:
    units = tuple(unit.text for unit in subject.outputs.units)
    return Told(subject.inputs.text, subject.outputs.text, units, tuple(found_O))


@contextmanager
def _set(subject: Subject, cell: Cell) -> Iterator[None]:
    """The model with one cell set, for one pass."""
    look = found(subject, cell.look)
    numbers = heads(subject, look, "mean" if cell.head is None else cell.head)
    row, reached, calls = _row(subject, look, cell), 0, iter(look.at)

    def put(weights: Float[Tensor, "B H Q K"]) -> Float[Tensor, "B H Q K"]:
        # A decoder that goes step by step passes here once for each row, a reader of several texts once for each.
        nonlocal reached
        first, left = next(calls, (reached, 0))
        reached = first + weights.shape[2]
        column = cell.column - left
        if not first <= row < reached or not 0 <= column < weights.shape[3]:
            return weights
        changed = weights.clone()
        changed[:, numbers, row - first] = _with(weights[:, numbers, row - first], column, cell.value)
        return changed

    with replace(subject.model, look.tap, put):
        yield


def _with(row: Float[Tensor, "B H K"], column: int, value: float) -> Float[Tensor, "B H K"]:
    total, old = row.sum(-1, keepdim=True), row[..., column : column + 1]
    rest = total - old
    scale = torch.where(rest > 0, (total - value).clamp(min=0) / rest.clamp(min=1e-30), torch.zeros_like(rest))
    changed = row * scale
    changed[..., column] = value
    return changed


def _row(subject: Subject, look: Look, cell: Cell) -> int:
    """The row of the layer's own map that is meant; refused where there is no such cell."""
    queries, keys = seen(subject, look).map.shape
    shown = {"outputs": len(subject.outputs), "inputs": len(subject.inputs), "one": 1}[look.queries]
    if not 0.0 <= cell.value <= 1.0:
        raise RequestError(f"A weight of {cell.value} cannot be; give one from 0 to 1.")
    if not 0 <= cell.row < shown or not 0 <= cell.column < keys:
        raise RequestError(
            f"There is no cell ({cell.row}, {cell.column}): this attention has {shown} rows and {keys} columns, "
            "counted from 0."
        )
    row = queries - shown + cell.row if look.queries == "outputs" else cell.row
    if look.kind == "self" and look.queries == "outputs" and cell.column > keys - queries + row:
        raise RequestError(f"Row {cell.row} cannot see column {cell.column}: it is not written yet.")
    return row
