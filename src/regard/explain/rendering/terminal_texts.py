"""Few outputs on a terminal: the text with its words highlighted, and the words that count most in figures."""

from collections.abc import Iterator

import numpy as np
from rich.cells import cell_len

from regard.explain.rendering.labels import Segment, segments, visible
from regard.explain.rendering.shades import Style
from regard.explain.rendering.shown import Shown

TOP = 6


def texts(seen: Shown, style: Style) -> Iterator[str]:
    """The lines of every output."""
    for row in range(len(seen.rows)):
        sure = "" if seen.map.probabilities is None else f"  {seen.map.probabilities[seen.rows[row]]:.0%}"
        yield style.cut(f"{seen.row_labels[row]}{sure}", style.width)
        yield from _flow(seen, row, style)
        yield from _top(seen, row, style)
        yield ""


def _flow(seen: Shown, row: int, style: Style) -> Iterator[str]:
    """The text in lines; without colours a line of shades under each."""
    shares, found = seen.shares[row], segments(seen.map.inputs)
    above, below, at = "", "", 0
    for column, number in enumerate(seen.columns):
        wall = " ‖ " if column == seen.text_columns and column else ""
        gap, word = _pieces(found[number], style.width)
        gap = "" if wall else gap
        size = cell_len(gap + wall + word)
        if at and ("\n" in found[number].gap or at + size > style.width):
            yield from _pair(above, below, style)
            above, below, at = "", "", 0
        gap = gap if at else ""
        space = " " * cell_len(gap + wall)
        above += gap + wall + style.painted(word, float(shares[column]))
        below += space + style.mark(float(shares[column]), cell_len(word))
        at += cell_len(gap + wall + word)
    yield from _pair(above, below, style)


def _pieces(segment: Segment, width: int) -> tuple[str, str]:
    gap = " " if segment.gap.isspace() else visible(segment.gap)
    return gap, Style(width, False).cut(visible(segment.text), max(width - cell_len(gap) - 2, 4))


def _pair(above: str, below: str, style: Style) -> Iterator[str]:
    yield above
    if not style.colour and below.strip():
        yield below


def _top(seen: Shown, row: int, style: Style) -> Iterator[str]:
    """The words that count most, in figures, as many as go on a line."""
    strength = np.abs(seen.weights[row, : seen.text_columns])
    order = np.argsort(-strength, kind="stable")[:TOP]
    line = "most:"
    for column in (int(place) for place in order if strength[place]):
        told = f"  {seen.column_labels[column]} {seen.figure(row, column)}"
        if cell_len(line + told) > style.width:
            break
        line += told
    if line != "most:":
        yield line
