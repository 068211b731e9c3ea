"""A picture before it is painted: texts, boxes and blocks of cells at their places, in pixels.

Layouts put parts anywhere; the frame is drawn around what is there, so nothing is ever cut off.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import cos, radians, sin
from typing import Literal

import numpy as np
from jaxtyping import UInt8

from regard.explain.rendering.colours import INK
from regard.explain.rendering.labels import Pixels, room

EDGE = 16.0
Frame = tuple[Pixels, Pixels, Pixels, Pixels]


@dataclass(frozen=True)
class Text:
    """A line of text on its baseline, turned about the point it hangs on."""

    x: Pixels
    y: Pixels
    text: str
    size: Pixels = 14
    colour: str = INK
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False
    angle: Pixels = 0

    @property
    def frame(self) -> Frame:
        width = room(self.text, self.size) * (1.08 if self.bold else 1)
        left = {"start": 0.0, "middle": -width / 2, "end": -width}[self.anchor]
        corners = [(left + x, y) for x in (0, width) for y in (-self.size, 0.3 * self.size)]
        turn = radians(self.angle)
        xs = [self.x + x * cos(turn) - y * sin(turn) for x, y in corners]
        ys = [self.y + x * sin(turn) + y * cos(turn) for x, y in corners]
        return min(xs), min(ys), max(xs), max(ys)


@dataclass(frozen=True)
class Box:
    """A filled rectangle with round corners, hatched or not."""

    x: Pixels
    y: Pixels
    width: Pixels
    height: Pixels
    fill: str
    hint: str = ""
    hatched: bool = False

    @property
    def frame(self) -> Frame:
        return self.x, self.y, self.x + self.width, self.y + self.height


@dataclass(frozen=True)
class Cells:
    """A block of coloured cells; each can tell something, and the whole block is hatched or not."""

    x: Pixels
    y: Pixels
    cell_width: Pixels
    cell_height: Pixels
    colours: UInt8[np.ndarray, "rows columns 3"]
    hints: tuple[tuple[str, ...], ...] = ()
    hatched: bool = False

    @property
    def frame(self) -> Frame:
        rows, columns, _ = self.colours.shape
        return self.x, self.y, self.x + columns * self.cell_width, self.y + rows * self.cell_height


Part = Text | Box | Cells


@dataclass(frozen=True)
class Scene:
    """Parts, later ones over earlier ones, with one line that says what is seen, for those who cannot see it."""

    parts: tuple[Part, ...]
    title: str

    @property
    def frame(self) -> Frame:
        """Everything there is, and an edge around it."""
        left, top, right, bottom = around(self.parts)
        return left - EDGE, top - EDGE, right + EDGE, bottom + EDGE


def around(parts: Iterable[Part]) -> Frame:
    """The smallest frame that holds all parts."""
    frames = [part.frame for part in parts] or [(0, 0, 0, 0)]
    lefts, tops, rights, bottoms = zip(*frames, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def moved(parts: Iterable[Part], x: Pixels, y: Pixels) -> tuple[Part, ...]:
    """The parts somewhere else."""
    return tuple(replace(part, x=part.x + x, y=part.y + y) for part in parts)


def stacked(scenes: Sequence[Scene], between: Pixels = 40) -> Scene:
    """Scenes one under the other, their left sides in line."""
    parts: tuple[Part, ...] = ()
    bottom = 0.0
    for scene in scenes:
        left, top, _, _ = around(scene.parts)
        here = moved(scene.parts, -left, bottom - top)
        parts, bottom = (*parts, *here), around(here)[3] + between
    return Scene(parts, "; ".join(scene.title for scene in scenes))
