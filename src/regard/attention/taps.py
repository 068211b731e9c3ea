"""Named points at which any tensor can be watched or replaced, without the model knowing who looks.

A tap is found by its place in the model: `encoder.blocks.0.attention.mechanism.weights`. Watching changes nothing: what
is recorded is computed beside the model, from the tensors it used, and for what was asked only.

    with record(model, "*.weights", layers=[-1], heads=[0]) as seen:
        model(batch)
    seen[0].tensor, seen[0].check
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeAlias

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.errors import ModelError, RequestError, unknown

Change: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Check:
    """How far recorded weights are from what they claim to be; all is well when each is zero up to rounding."""

    row_sum: float
    padding: float
    output: float
    tolerance: float

    def verify(self, name: str) -> None:
        found = {
            "rows do not sum to what their scope promises": self.row_sum,
            "weight lies where the mask forbids": self.padding,
            "weights x values is not what the layer put out": self.output,
        }
        for trouble, distance in found.items():
            if not distance <= self.tolerance:
                raise ModelError(
                    f"The weights recorded at {name} fail their own check: {trouble} "
                    f"(off by {distance:.2e}, tolerance {self.tolerance:.0e}); do not trust them, and report this."
                )


@dataclass(frozen=True)
class Record:
    """One tensor that passed a tap, cut to what was asked; `axes` names its dimensions, one letter each."""

    name: str
    step: int
    tensor: Tensor
    axes: str
    check: Check | None = None


@dataclass(frozen=True)
class Selection:
    """Which part of every tensor is asked for; None means all of it."""

    examples: Sequence[int] | None = None
    heads: Sequence[int] | None = None
    rows: Sequence[int] | None = None
    steps: Sequence[int] | None = None

    def __post_init__(self) -> None:
        for name, asked in vars(self).items():
            if asked is not None and len(asked) == 0:
                raise RequestError(f"{name}={asked} asks for nothing; name at least one, or leave {name} out for all.")
        if self.steps is not None and min(self.steps) < 0:
            raise RequestError(f"There is no step {min(self.steps)}: steps are counted from 0 as they come.")

    def along(self, axis: str) -> Sequence[int] | None:
        return {"B": self.examples, "H": self.heads, "Q": self.rows, "T": self.rows}.get(axis)

    def index(self, axis: str, size: int, device: torch.device) -> Int[Tensor, " N"]:
        """The asked places along one axis, counted from the end where below zero."""
        asked = self.along(axis)
        if asked is None:
            return torch.arange(size, device=device)
        for place in asked:
            if not -size <= place < size:
                raise RequestError(f"There is no {AXES[axis]} {place}: this tensor has {size}, counted from 0.")
        return torch.tensor([place % size for place in asked], dtype=torch.long, device=device)


AXES = {"B": "example", "H": "head", "Q": "row", "T": "row"}


@dataclass(eq=False)
class Watch:
    """One listener at many taps: what it asks for, and what it has seen."""

    selection: Selection
    change: Change | None = None
    seen: list[Record] = field(default_factory=list)
    steps: dict[str, int] = field(default_factory=dict)

    def step(self, name: str) -> int | None:
        """The number of this call at that tap, or None if it was not asked for."""
        number = self.steps.get(name, 0)
        self.steps[name] = number + 1
        asked = self.selection.steps
        return number if asked is None or number in asked else None


class Tap(nn.Module):
    """An identity with a name; each letter of `axes` names a dimension of what passes."""

    def __init__(self, axes: str) -> None:
        super().__init__()
        self.axes = axes
        self.name = ""
        self.watches: list[Watch] = []

    def forward(self, tensor: Tensor, check: Check | None = None) -> Tensor:
        for watch in self.watches:
            tensor = self._pass(tensor, watch, check)
        return tensor

    @property
    def replaced(self) -> bool:
        return any(watch.change for watch in self.watches)

    def replace(self, tensor: Tensor) -> Tensor:
        """Only what replaces, for taps whose recording is computed elsewhere."""
        for watch in self.watches:
            if watch.change and watch.step(self.name) is not None:
                tensor = _changed(tensor, watch.change, self.name)
        return tensor

    def asked(self) -> Iterator[tuple[Watch, int]]:
        """The recorders that want this call, with its number."""
        for watch in self.watches:
            if watch.change is None:
                step = watch.step(self.name)
                if step is not None:
                    yield watch, step

    def _pass(self, tensor: Tensor, watch: Watch, check: Check | None) -> Tensor:
        step = watch.step(self.name)
        if step is None:
            return tensor
        if watch.change:
            return _changed(tensor, watch.change, self.name)
        cut = _cut(tensor.detach(), self.axes, watch.selection)
        watch.seen.append(Record(self.name, step, cut, self.axes, check))
        return tensor


def taps(model: nn.Module) -> dict[str, Tap]:
    """Every tap of a model, by name."""
    return {name: module for name, module in model.named_modules() if isinstance(module, Tap)}


@contextmanager
def record(
    model: nn.Module,
    *patterns: str,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    examples: Sequence[int] | None = None,
) -> Iterator[list[Record]]:
    """Watch the taps that match any pattern; the list fills as the model runs."""
    watch = Watch(Selection(examples, heads, rows, steps))
    with _watching(matching(model, patterns or ("*.weights",), layers), watch):
        yield watch.seen


@contextmanager
def replace(
    model: nn.Module,
    pattern: str,
    change: Change,
    layers: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> Iterator[None]:
    """Put change(tensor) in the place of every tensor that passes the matching taps."""
    with _watching(matching(model, (pattern,), layers), Watch(Selection(steps=steps), change)):
        yield


def matching(model: nn.Module, patterns: Iterable[str], layers: Sequence[int] | None = None) -> dict[str, Tap]:
    """The taps whose names match one of the patterns, in the layers asked for (counted from the end below zero)."""
    found: dict[str, Tap] = {}
    for pattern in patterns:
        found |= _named(model, pattern) or _hits(model, pattern)
    return found if layers is None else _in_layers(found, layers)


def _named(model: nn.Module, name: str) -> dict[str, Tap]:
    """The one tap of this very name, found without walking through the model; none, if it is a pattern."""
    try:
        found = model.get_submodule(name)
    except AttributeError:
        return {}
    return {name: found} if isinstance(found, Tap) else {}


def _hits(model: nn.Module, pattern: str) -> dict[str, Tap]:
    every = taps(model)
    hits = {name: tap for name, tap in every.items() if _matches(name, pattern)}
    if not hits:
        raise RequestError(unknown("tap", pattern, every))
    return hits


def _matches(name: str, pattern: str) -> bool:
    # A tap of the outermost module has no dot before its name, and "*.weights" means it too.
    return fnmatchcase(name, pattern) or fnmatchcase(f".{name}", pattern)


LAYER = re.compile(r"^(.*?)\.?\bblocks\.(\d+)\b")


def _in_layers(found: dict[str, Tap], layers: Sequence[int]) -> dict[str, Tap]:
    stacks: dict[str, set[int]] = {}
    placed = {name: match for name in found if (match := LAYER.match(name))}
    for match in placed.values():
        stacks.setdefault(match[1], set()).add(int(match[2]))
    depth = max((max(stack) + 1 for stack in stacks.values()), default=0)
    for layer in layers:
        if not -depth <= layer < depth:
            raise RequestError(f"There is no layer {layer}: these taps stand in {depth} layers, counted from 0.")
    deep = {stack: max(numbers) + 1 for stack, numbers in stacks.items()}
    # A stack too shallow for a layer that another one has is asked for nothing, not for some other layer.
    wanted = {(stack, layer % of) for stack, of in deep.items() for layer in layers if -of <= layer < of}
    return {name: found[name] for name, match in placed.items() if (match[1], int(match[2])) in wanted}


# Who listens now, to any model.
LISTENING: list[Watch] = []


def watched() -> bool:
    """Whether anybody watches or replaces anything: what goes around the taps must then go through them."""
    return bool(LISTENING)


def replaced() -> bool:
    """Whether anybody replaces anything."""
    return any(watch.change for watch in LISTENING)


@contextmanager
def _watching(found: dict[str, Tap], watch: Watch) -> Iterator[None]:
    LISTENING.append(watch)
    for name, tap in found.items():
        tap.name = name
        tap.watches.append(watch)
    try:
        yield
    finally:
        for tap in found.values():
            tap.watches.remove(watch)
        LISTENING.remove(watch)


def _cut(tensor: Tensor, axes: str, selection: Selection) -> Tensor:
    for dimension, axis in enumerate(axes):
        if selection.along(axis) is not None:
            index = selection.index(axis, tensor.shape[dimension], tensor.device)
            tensor = tensor.index_select(dimension, index)
    # Without a copy, a layer that works in place would change the record behind its reader's back.
    return tensor.clone()


def _changed(tensor: Tensor, change: Change, name: str) -> Tensor:
    new = change(tensor)
    if new.shape != tensor.shape:
        raise RequestError(f"{name} has shape {tuple(tensor.shape)}, its replacement {tuple(new.shape)}; keep it.")
    return new


def variances(model: nn.Module, call: Callable[[], object], pattern: str = "*.blocks.*.output") -> dict[str, float]:
    """The variance of activations after every layer during one call: a report on how a model starts."""
    with record(model, pattern) as seen:
        call()
    return {entry.name: float(entry.tensor.var()) for entry in seen}
