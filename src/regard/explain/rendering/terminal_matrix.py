"""Outputs by inputs on a terminal: blocks of columns that fit, or for each output the inputs that count most."""

from collections.abc import Iterator, Sequence

import numpy as np
from rich.cells import cell_len

from regard.explain.rendering.shades import Style
from regard.explain.rendering.shown import Shown

WIDEST_NAME, WIDEST_COLUMN, TOP = 20, 12, 5
WALL = "‖ "


def bands(seen: Shown, style: Style) -> list[list[str]]:
    """The matrix in blocks of columns, each with the names of the rows; what is no text comes last, behind a bar."""
    named = min(max(map(cell_len, seen.row_labels)), WIDEST_NAME, style.width // 3)
    widths = _widths(seen)
    found: list[list[int]] = [[]]
    used = named
    for column, width in enumerate(widths):
        extra = width + 1 + (len(WALL) if column == seen.text_columns else 0)
        if found[-1] and used + extra > style.width:
            found.append([])
            used = named
        found[-1].append(column)
        used += extra
    return [_band(seen, columns, widths, named, style) for columns in found]


def _widths(seen: Shown) -> list[int]:
    """The cells of every column: its name, and the longest of its figures with a shade."""
    figures = np.vectorize(len, otypes=[int])(_figures(seen)).max(0, initial=0) + 2
    return [
        max(min(cell_len(name), WIDEST_COLUMN), int(size))
        for name, size in zip(seen.column_labels, figures, strict=True)
    ]


def _figures(seen: Shown) -> np.ndarray:
    """All figures without intervals; a cell that would read 0.00 has none."""
    rows, columns = seen.map.weights.shape
    told = [[_figure(seen, row, column) for column in range(columns)] for row in range(rows)]
    return np.array(told, dtype=object).reshape(rows, columns)


def _figure(seen: Shown, row: int, column: int) -> str:
    told = seen.figure(row, column).split(" ")[0]
    return told if told.strip("0.+−") else ""


def _band(seen: Shown, columns: Sequence[int], widths: Sequence[int], named: int, style: Style) -> list[str]:
    names = [f"{_wall(seen, column)}{style.filled(seen.column_labels[column], widths[column])}" for column in columns]
    lines = [" ".join([" " * named, *names])]
    for row, name in enumerate(seen.row_labels):
        if row == seen.text_rows and row:
            lines.append("╌" * named)
        cells = [f"{_wall(seen, column)}{_cell(seen, row, column, widths[column], style)}" for column in columns]
        lines.append(" ".join([style.filled(name, named), *cells]))
    return [*lines, ""]


def _wall(seen: Shown, column: int) -> str:
    return WALL if column == seen.text_columns and column else ""


def _cell(seen: Shown, row: int, column: int, width: int, style: Style) -> str:
    share, told = float(seen.shares[row, column]), _figure(seen, row, column)
    if style.colour:
        return style.painted(told.center(width), share)
    return f"{style.mark(share, 1)} {told}".ljust(width)


def lists(seen: Shown, style: Style) -> Iterator[str]:
    """A line for each output: the inputs that count most, in figures, and what is no text behind the bar."""
    named = min(max(map(cell_len, seen.row_labels)), WIDEST_NAME, style.width // 3)
    apart = range(seen.text_columns, len(seen.columns))
    for row, name in enumerate(seen.row_labels):
        line = f"{style.filled(name, named)} ←"
        behind = WALL + " ".join(_told(seen, row, column) for column in apart) if apart else ""
        free = style.width - cell_len(line) - cell_len(behind) - 1
        for column in _strongest(seen, row):
            told = _told(seen, row, column)
            free -= cell_len(told) + 4
            if free < 0:
                break
            line += f" {style.mark(float(seen.shares[row, column]), 2)} {told}"
        yield f"{line} {behind}" if cell_len(behind) < style.width // 2 else line


def _told(seen: Shown, row: int, column: int) -> str:
    return f"{seen.column_labels[column]} {seen.figure(row, column)}"


def _strongest(seen: Shown, row: int) -> Iterator[int]:
    """Columns of text, the strongest first."""
    weights = np.abs(seen.weights[row, : seen.text_columns])
    order = np.argsort(-weights, kind="stable")[:TOP]
    yield from (int(column) for column in order if weights[column])
