"""What the explorer is told of a prediction, and how JSON has it."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

from regard.decode.trace import Tree
from regard.explain import Axis
from regard.explain.grid import Grid, Stack
from regard.explain.words import word_ranges
from regard.tasks import Result


@dataclass(frozen=True)
class Alternative:
    """What else could have stood at a place; `joins` where no space is before it, `ends` where the text would end."""

    text: str
    probability: float
    piece: int | None = None
    joins: bool = False
    ends: bool = False

    def plain(self) -> dict[str, Any]:
        known = {} if self.piece is None else {"piece": self.piece, "joins": self.joins, "ends": self.ends}
        return {"text": self.text, "probability": round(self.probability, 6), **known}


@dataclass(frozen=True)
class Exploration:
    """A prediction as the explorer shows it; `notes` say what is missing, and why."""

    # None where the output was given.
    result: Result | None
    inputs: Axis
    outputs: Axis
    grids: tuple[Grid, ...]
    # Attentions that there is no room for; they can be asked for by name and layer.
    left_out: tuple[Stack, ...]
    probabilities: tuple[float, ...]
    # The likeliest of all that could stand at each output.
    alternatives: tuple[tuple[Alternative, ...], ...] | None
    # The output's own pieces, without an end, where a text was written: what a forced beginning is made of.
    pieces: tuple[int, ...] | None
    tree: Tree | None
    # The text of each node.
    branches: tuple[str, ...] = ()
    # Which part of the source is shown, of how many.
    part: int = 0
    parts: int = 1
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        words = {"inputs": word_ranges(self.inputs), "outputs": word_ranges(self.outputs)}
        places = self.alternatives
        return {
            "result": None if self.result is None else self.result.plain(),
            "inputs": _axis(self.inputs),
            "outputs": _axis(self.outputs),
            "words": words,
            "attentions": [*map(_grid, self.grids), *(_stack(stack) | {"bytes": None} for stack in self.left_out)],
            "probabilities": [round(one, 6) for one in self.probabilities],
            "alternatives": None if places is None else [[one.plain() for one in place] for place in places],
            "pieces": None if self.pieces is None else list(self.pieces),
            "tree": None if self.tree is None else _tree(self.tree, self.branches),
            "part": self.part,
            "parts": self.parts,
            "notes": list(self.notes),
        }


def _axis(axis: Axis) -> dict[str, Any]:
    units = [{"text": unit.text, "span": unit.span, "special": unit.special} for unit in axis.units]
    return {"text": axis.text, "units": units}


def _stack(stack: Stack) -> dict[str, Any]:
    layers, heads, rows, columns = stack.shape
    return {
        "name": stack.name,
        "title": stack.title,
        "kind": stack.look.kind,
        "queries": stack.look.queries,
        "keys": stack.keys,
        "layers": layers,
        "heads": heads,
        "rows": rows,
        "columns": columns,
        "taps": [look.tap for look in stack.looks],
        "numbers": [look.layer for look in stack.looks],
        "heads_of": list(stack.heads),
    }


def _grid(grid: Grid) -> dict[str, Any]:
    return _stack(grid.stack) | {"bytes": b64encode(grid.weights.tobytes()).decode(), "check": grid.check}


def _tree(tree: Tree, texts: Sequence[str]) -> dict[str, Any]:
    nodes = [
        {
            "id": number,
            "parent": node.parent,
            "step": node.step,
            "text": text,
            "piece": node.piece,
            "score": round(node.score, 6),
            "probability": round(exp(node.log_probability), 6),
            "state": node.fate,
        }
        for number, (node, text) in enumerate(zip(tree.nodes, texts, strict=True))
    ]
    return {"beams": tree.beams, "cut": tree.cut, "nodes": nodes}
