"""The matrix: outputs downwards, inputs across, what is no text behind a gap and hatched."""

from collections.abc import Iterator
from math import ceil

from regard.explain.rendering.colours import FAINT, colours
from regard.explain.rendering.dressing import dressed
from regard.explain.rendering.labels import Pixels
from regard.explain.rendering.scene import Cells, Part, Scene, Text
from regard.explain.rendering.shown import Shown

CELL, GAP, WIDEST = 30.0, 10.0, 1500.0
# Labels closer than this would run into one another; those above the columns are slanted.
LINE, SLANTED = 15.0, 21.0
# More cells than this are painted as one picture and have no figures of their own.
MOST_CELLS = 2500


def matrix(seen: Shown) -> Scene:
    """The scene of one explanation as a matrix."""
    rows, columns = seen.map.weights.shape
    wide, high = min(CELL, WIDEST / max(1, columns)), min(CELL, WIDEST / max(1, rows))
    every = ceil(SLANTED / wide)
    parts = [*blocks(seen, wide, high), *_row_labels(seen, high, ceil(LINE / high)), *_column_labels(seen, wide, every)]
    legend = "how much each input (across) counts for each output (down)"
    return dressed(parts, seen, legend + (f"; one column in {every} is named" if every > 1 else ""))


def blocks(seen: Shown, wide: float, high: float, gap: Pixels = GAP) -> Iterator[Cells]:
    """The cells at the origin: what is text by what is text, and the three blocks that are apart."""
    shades = colours(seen.shares)
    rows, columns = seen.map.weights.shape
    told = rows * columns <= MOST_CELLS
    for top, bottom in ((0, seen.text_rows), (seen.text_rows, rows)):
        for left, right in ((0, seen.text_columns), (seen.text_columns, columns)):
            if bottom > top and right > left:
                x, y = place(left, seen.text_columns, wide, gap), place(top, seen.text_rows, high, gap)
                hints = _hints(seen, range(top, bottom), range(left, right)) if told else ()
                yield Cells(x, y, wide, high, shades[top:bottom, left:right], hints, left >= seen.text_columns)


def place(number: int, text: int, cell: float, gap: Pixels = GAP) -> float:
    """Where a row or column begins; those after the text are behind the gap."""
    return number * cell + (gap if number >= text > 0 else 0)


def _hints(seen: Shown, rows: range, columns: range) -> tuple[tuple[str, ...], ...]:
    outputs, inputs = seen.row_labels, seen.column_labels
    return tuple(
        tuple(f"{outputs[row]} ← {inputs[column]}: {seen.figure(row, column)}" for column in columns) for row in rows
    )


def _row_labels(seen: Shown, cell: float, every: int) -> Iterator[Part]:
    sure = seen.map.probabilities
    for number in range(0, len(seen.rows), every):
        y = place(number, seen.text_rows, cell) + cell / 2 + 5
        if sure is not None:
            yield Text(-8, y, f"{sure[seen.rows[number]]:.0%}", 11, FAINT, "end")
        yield Text(-8 if sure is None else -46, y, seen.row_labels[number], anchor="end")


def _column_labels(seen: Shown, cell: float, every: int) -> Iterator[Part]:
    names = seen.column_labels
    for number in range(0, len(names), every):
        x = place(number, seen.text_columns, cell) + cell / 2 + 3
        yield Text(x, -8, names[number], angle=-45)
