"""Texts with highlighted words: for few outputs, each over the whole input, read as one reads."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from regard.explain.rendering.colours import FAINT, coded, colours, ink
from regard.explain.rendering.dressing import dressed
from regard.explain.rendering.labels import Pixels, Segment, room, segments, visible
from regard.explain.rendering.scene import Box, Part, Scene, Text, around, moved
from regard.explain.rendering.shown import Shown

WIDEST, LINE, HEIGHT, PAD = 760.0, 29.0, 23.0, 3.0


@dataclass
class _Pen:
    """Where the next word goes; what does not fit goes on a new line."""

    x: Pixels = 0
    y: Pixels = 0

    def take(self, width: Pixels) -> tuple[Pixels, Pixels]:
        if self.x + width > WIDEST and self.x:
            self.turn()
        here = self.x, self.y
        self.x += width
        return here

    def turn(self) -> None:
        self.x, self.y = 0, self.y + LINE


def texts(seen: Shown) -> Scene:
    """The scene of one explanation as texts, one for each output."""
    parts: list[Part] = []
    bottom = 0.0
    for row in range(len(seen.rows)):
        here = [*_name(seen, row), *moved(_written(seen, row), 0, 34)]
        parts += moved(here, 0, bottom)
        bottom = around(parts)[3] + 30
    return dressed(parts, seen, "how much each word counts for the output")


def _name(seen: Shown, row: int) -> Iterator[Part]:
    name = seen.row_labels[row]
    yield Text(0, 0, name, 15, bold=True)
    if seen.map.probabilities is not None:
        sure = f"{seen.map.probabilities[seen.rows[row]]:.0%}"
        yield Text(room(name, 15) * 1.08 + 10, 0, sure, 13, FAINT)


def _written(seen: Shown, row: int) -> list[Part]:
    """The text, and behind a bar what is no text."""
    shades = colours(seen.shares[row])
    places = {number: column for column, number in enumerate(seen.columns)}
    found, pen = segments(seen.map.inputs), _Pen()
    parts: list[Part] = []
    for number in sorted(places, key=lambda number: found[number].special):
        segment, column = found[number], places[number]
        if column == seen.text_columns and column:
            parts.append(_wall(pen))
        _space(pen, segment)
        parts += _word(pen, segment, shades[column], f"{visible(segment.text)}: {seen.figure(row, column)}")
    return parts


def _wall(pen: _Pen) -> Box:
    x, y = pen.take(18)
    return Box(x + 8, y - 17, 2, HEIGHT, FAINT)


def _space(pen: _Pen, segment: Segment) -> None:
    if "\n" in segment.gap:
        pen.turn()
    elif pen.x:
        pen.take(room(segment.gap.strip()) + (5 if segment.gap else 1))


def _word(pen: _Pen, segment: Segment, shade: UInt8[np.ndarray, "3"], hint: str) -> list[Part]:
    text = visible(segment.text.strip()) or "␣"
    width = room(text) + 2 * PAD
    x, y = pen.take(width)
    box = Box(x, y - 17, width, HEIGHT, coded(shade), hint, segment.special)
    return [box, Text(x + width / 2, y, text, colour=ink(shade), anchor="middle")]
