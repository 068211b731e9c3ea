"""What an explanation is: how much each input counts for each output, how it was found, and how far to trust it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

Span = tuple[int, int]


@dataclass(frozen=True)
class Unit:
    """A piece or a word: its text, the characters it covers, and whether it is no text at all (end, padding, begin)."""

    text: str
    span: Span | None = None
    special: bool = False


@dataclass(frozen=True)
class Axis:
    """The units along one side, in order, and the text they are of."""

    text: str
    units: tuple[Unit, ...]

    def __len__(self) -> int:
        return len(self.units)


@dataclass(frozen=True)
class Attribution:
    """weights[o, i]: how much input i counts for output o; what is special stands on the axes and is told apart."""

    method: str
    outputs: Axis
    inputs: Axis
    weights: Float[np.ndarray, "outputs inputs"]
    # Weights may be below zero: the input speaks against the output.
    signed: bool = False
    # Half the width of each weight's 95 % interval, where a method draws at random.
    error: Float[np.ndarray, "outputs inputs"] | None = None
    # Where the weights were taken from, in words: layers, heads, how they were put together.
    source: str = ""
    # What the method can check of itself, such as completeness; 0 is perfect.
    check: Mapping[str, float] = field(default_factory=dict)
    # What the method cannot tell, in one sentence.
    caveat: str = ""
    # Probability of each output, where the task has one.
    probabilities: tuple[float, ...] | None = None
    # Where one layer or head is shown: its number, from 0. Pictures of many put them in their places.
    layer: int | None = None
    head: int | None = None

    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "method": self.method,
            "outputs": _plain(self.outputs),
            "inputs": _plain(self.inputs),
            "weights": self.weights.tolist(),
            "signed": self.signed,
            "error": None if self.error is None else self.error.tolist(),
            "source": self.source,
            "check": dict(self.check),
            "caveat": self.caveat,
            "probabilities": None if self.probabilities is None else list(self.probabilities),
            "layer": self.layer,
            "head": self.head,
        }

    def _repr_html_(self) -> str:
        """A picture for notebooks, without script."""
        from regard.explain.rendering.notebook import notebook

        return notebook(self)


def _plain(axis: Axis) -> dict[str, Any]:
    units = [{"text": unit.text, "span": unit.span, "special": unit.special} for unit in axis.units]
    return {"text": axis.text, "units": units}
