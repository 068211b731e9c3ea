"""What stands above and below every picture: title and source, the scale as a bar with figures, the notes."""

from collections.abc import Sequence

import numpy as np

from regard.explain.rendering.colours import FAINT, colours
from regard.explain.rendering.labels import Pixels, visible, wrapped
from regard.explain.rendering.scene import Cells, Part, Scene, Text, around
from regard.explain.rendering.shown import Shown, figure, heading, notes

NARROWEST, BAR, HIGH = 460.0, 180, 12


def dressed(parts: Sequence[Part], seen: Shown, legend: str) -> Scene:
    """The parts with all words around them."""
    left, top, right, bottom = around(parts)
    width = max(right - left, NARROWEST)
    title = visible(heading(seen.map))
    above = _above(title, visible(seen.map.source), left, top - 14, width)
    bar = _bar(seen, left + 14, bottom + 22)
    beside = Text(left + BAR + 46, bottom + 32, legend, 12, FAINT)
    below = _lines(notes([seen]), left, around(bar)[3] + 24, width)
    return Scene((*above, *parts, *bar, beside, *below), f"{title}. {visible(seen.map.source)}".strip())


def _above(title: str, source: str, left: Pixels, bottom: Pixels, width: Pixels) -> list[Part]:
    """Title and source, the last line on the given height."""
    lines = wrapped(source, width, 12)
    found: list[Part] = [Text(left, bottom - 17 * len(lines), title, 17, bold=True)] if title else []
    start = bottom - 17 * (len(lines) - 1)
    return [*found, *(Text(left, start + 17 * number, line, 12, FAINT) for number, line in enumerate(lines))]


def _bar(seen: Shown, x: Pixels, y: Pixels) -> list[Part]:
    """The scale from its one end to the other, with figures under it."""
    low = -1.0 if seen.map.signed else 0.0
    shades = colours(np.tile(np.linspace(low, 1, BAR), (HIGH, 1)))
    ends = [(0.0, low), (0.5, (low + 1) / 2), (1.0, 1.0)]
    told = [
        Text(x + BAR * place, y + 26, figure(share * seen.scale, seen.scale, seen.map.signed), 11, FAINT, "middle")
        for place, share in ends
    ]
    sides = [Text(x, y + 41, "against", 11, FAINT, "middle"), Text(x + BAR, y + 41, "for", 11, FAINT, "middle")]
    return [Cells(x, y, 1, 1, shades), *told, *(sides if seen.map.signed else [])]


def _lines(told: Sequence[str], x: Pixels, y: Pixels, width: Pixels) -> list[Part]:
    lines = [line for note in told for line in wrapped(note, width, 12)]
    return [Text(x, y + 17 * number, line, 12, FAINT) for number, line in enumerate(lines)]
