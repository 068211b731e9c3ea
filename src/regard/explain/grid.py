"""Every layer and head of every attention at once, as bytes that a page can draw.

A stack is the layers of one attention that look from the same side to the same side. Where what is read and what is
written are one text, its weights are shown as two stacks: what outputs put on the inputs, and what on earlier outputs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod
from re import sub
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn import functional as F

from regard.attention import Record, record
from regard.explain.asking import CHECKED, MANY_WEIGHTS, heads, in_turn, scores, still
from regard.explain.subject import Look, Subject

# Weights held in one pass over several layers; a layer that has more than MANY_WEIGHTS is taken a few heads at a time.
MANY_TOGETHER = 4 * MANY_WEIGHTS
# What is looked at first where not everything can be.
ORDER = ("cross", "pool", "self")


@dataclass(frozen=True)
class Stack:
    """Layers that are drawn alike: from what they look (one row each), at what (one column each).

    Columns of outputs are places of the decoder, each of which holds the output before it.
    """

    name: str
    looks: tuple[Look, ...]
    # The heads of each layer; pruned ones may have fewer than others.
    heads: tuple[int, ...]
    keys: Literal["inputs", "outputs"]
    rows: int
    columns: int

    @property
    def look(self) -> Look:
        return self.looks[0]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return len(self.looks), max(self.heads), self.rows, self.columns

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def title(self) -> str:
        """In words, what looks at what."""
        if self.look.kind == "pool":
            return "what the whole text is summed up from"
        if self.look.kind == "cross" and self.look.queries == "inputs":
            return "second text looks at first"
        asking, asked = self.look.queries.removesuffix("s"), self.keys.removesuffix("s")
        return f"{asking} looks at {'earlier output' if asked == 'output' else asked}"


@dataclass(frozen=True)
class Grid:
    """weights[l, h, q, k] of a stack: 255 is a weight of one; `check` is the worst of what recorded weights check."""

    stack: Stack
    weights: UInt8[np.ndarray, "L H Q K"]
    check: float


def stacks(subject: Subject) -> list[Stack]:
    """Every attention of a model, what outputs look at first."""
    found = [stack for looks in _alike(subject.looks) for stack in _stacks(subject, looks)]
    return sorted(found, key=lambda stack: (stack.look.queries == "inputs", ORDER.index(stack.look.kind), stack.name))


def _alike(looks: Sequence[Look]) -> Iterator[tuple[Look, ...]]:
    ordered = sorted(looks, key=lambda look: (_name(look), look.layer))
    return (tuple(run) for _, run in groupby(ordered, key=_name))


def _name(look: Look) -> str:
    """The place of a layer's attention in the model, a star for the number of the layer."""
    return sub(r"\.\d+\.", ".*.", look.tap.removesuffix(".mechanism.weights"), count=1)


def _stacks(subject: Subject, looks: tuple[Look, ...]) -> Iterator[Stack]:
    look, name = looks[0], _name(looks[0])
    counts = tuple(len(heads(subject, one, "mean")) for one in looks)
    rows = {"inputs": len(subject.inputs), "outputs": len(subject.outputs), "one": 1}[look.queries]
    columns = len(subject.inputs if look.keys == "inputs" else subject.outputs)
    yield Stack(name, looks, counts, look.keys, rows, columns)
    if whole(look):
        yield Stack(f"{name}/outputs", looks, counts, "outputs", rows, len(subject.outputs))


def whole(look: Look) -> bool:
    """Whether the keys are the inputs and, after them, the outputs."""
    return look.kind == "self" and look.queries == "outputs" and look.keys == "inputs"


def watch(subject: Subject, wanted: Sequence[Stack]) -> tuple[list[Grid], Float[Tensor, " O"]]:
    """These stacks, and log p of each output in the same pass; one pass of the model unless weights are very many."""
    found_O = None
    drawn = {stack.name: np.zeros(stack.shape, np.uint8) for stack in wanted}
    checks = dict.fromkeys(drawn, 0.0)
    for looks, numbers in _passes(subject, wanted):
        found_O, records = _recorded(subject, looks, numbers)
        for stack in wanted:
            for layer in (number for number, look in enumerate(stack.looks) if look in looks):
                look = stack.looks[layer]
                mine = [entry for entry in records if entry.name == look.tap]
                maps = shown(subject, stack, in_turn(subject, look, mine))
                drawn[stack.name][layer, list(numbers or range(len(maps)))] = _bytes(maps)
                checks[stack.name] = max(checks[stack.name], _worst(mine))
    found = [Grid(stack, drawn[stack.name], checks[stack.name]) for stack in wanted]
    return found, _recorded(subject, (), None)[0] if found_O is None else found_O


def _passes(subject: Subject, wanted: Sequence[Stack]) -> Iterator[tuple[tuple[Look, ...], list[int] | None]]:
    """Layers that are recorded together, or some heads of one."""
    sizes = {look: _size(subject, look) for stack in wanted for look in stack.looks}
    together: list[Look] = []
    for look, size in sizes.items():
        if size > MANY_WEIGHTS:
            yield from (((look,), few) for few in _few(len(heads(subject, look, "mean")), size))
            continue
        if sum(sizes[one] for one in together) + size > MANY_TOGETHER:
            yield tuple(together), None
            together = []
        together.append(look)
    if together:
        yield tuple(together), None


def _few(count: int, size: int) -> Iterator[list[int]]:
    step = max(1, MANY_WEIGHTS * count // size)
    return (list(range(start, min(start + step, count))) for start in range(0, count, step))


def _size(subject: Subject, look: Look) -> int:
    inputs, outputs = len(subject.inputs), len(subject.outputs)
    both = inputs + outputs if whole(look) else 0
    queries = both or {"inputs": inputs, "outputs": outputs, "one": 1}[look.queries]
    keys = both or (inputs if look.keys == "inputs" else outputs)
    return len(heads(subject, look, "mean")) * queries * keys


@torch.no_grad()
def _recorded(
    subject: Subject, looks: Sequence[Look], numbers: list[int] | None
) -> tuple[Float[Tensor, " O"], list[Record]]:
    with still(subject.model):
        if not looks:
            return scores(subject), []
        with record(subject.model, *(look.tap for look in looks), heads=numbers) as records:
            return scores(subject), records


def shown(subject: Subject, stack: Stack, maps: Float[Tensor, "H _ _"]) -> Float[Tensor, "H R C"]:
    """What of a layer's own maps stands for something: its rows and columns as the stack has them."""
    if stack.look.queries == "one":
        maps = maps.mean(1, keepdim=True)
    maps = maps[:, -stack.rows :] if stack.look.queries == "outputs" else maps[:, : stack.rows]
    if stack.keys == stack.look.keys:
        return maps[..., : stack.columns]
    # A model of one text has no column for the place before the first output.
    later = maps[..., len(subject.inputs) :]
    return F.pad(later, (stack.columns - later.shape[-1], 0))


def _bytes(weights: Float[Tensor, "H R C"]) -> UInt8[np.ndarray, "H R C"]:
    return (weights * 255).round().clamp(0, 255).to(torch.uint8).cpu().numpy()


def _worst(records: Sequence[Record]) -> float:
    checks = [entry.check for entry in records if entry.check is not None]
    return max((getattr(one, name) for one in checks for name in CHECKED), default=0.0)
