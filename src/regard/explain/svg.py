"""Pictures as SVG: text stays text, so any script the viewer has letters for is shown."""

from collections.abc import Sequence
from html import escape

import numpy as np
from jaxtyping import Float

CELL, LETTER, EDGE = 30, 8.2, 16
FONTS = "system-ui, 'Noto Sans CJK SC', 'PingFang SC', sans-serif"


def heat(
    weights: Float[np.ndarray, "rows columns"], rows: Sequence[str], columns: Sequence[str], title: str, note: str = ""
) -> str:
    """A grid of weights between 0 and 1, the darker the more; each cell tells its number when pointed at."""
    left, top = _room(rows) + 2 * EDGE, _room(columns) * 0.75 + 4 * EDGE
    width = max(left + len(columns) * CELL + 5 * EDGE, len(title) * 8.5 + 2 * EDGE, len(note) * 6.4 + 2 * EDGE)
    height = top + len(rows) * CELL + 3 * EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="{FONTS}" font-size="14">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{EDGE}" y="{1.6 * EDGE:.0f}" font-size="16" font-weight="600" fill="#1f2933">{escape(title)}</text>',
        f'<text x="{EDGE}" y="{height - EDGE:.0f}" font-size="12" fill="#616e7c">{escape(note)}</text>',
    ]
    parts += [_column(label, left + (number + 0.5) * CELL, top - 6) for number, label in enumerate(columns)]
    for number, label in enumerate(rows):
        parts.append(_row(label, left - 8, top + (number + 0.5) * CELL))
        parts += _cells(weights[number], label, columns, left, top + number * CELL)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _room(labels: Sequence[str]) -> float:
    """How much a column of labels takes; wide letters count twice."""
    return max((sum(2 if letter > "\u2e80" else 1 for letter in label) for label in labels), default=0) * LETTER


def _column(label: str, x: float, y: float) -> str:
    turned = f'transform="rotate(-45 {x:.1f} {y:.1f})"'
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="#323f4b" {turned}>{escape(label)}</text>'


def _row(label: str, x: float, y: float) -> str:
    return f'<text x="{x:.1f}" y="{y + 5:.1f}" fill="#323f4b" text-anchor="end">{escape(label)}</text>'


def _cells(
    weights: Float[np.ndarray, " columns"], row: str, columns: Sequence[str], left: float, y: float
) -> list[str]:
    return [
        f'<rect x="{left + number * CELL + 1:.1f}" y="{y + 1:.1f}" width="{CELL - 2}" height="{CELL - 2}" rx="3" '
        f'fill="{_colour(float(weight))}"><title>{escape(row)} ← {escape(column)}: {weight:.2f}</title></rect>'
        for number, (column, weight) in enumerate(zip(columns, weights, strict=True))
    ]


def _colour(weight: float) -> str:
    """From near white to a deep blue."""
    light, deep = (240, 244, 248), (11, 79, 138)
    share = min(max(weight, 0.0), 1.0) ** 0.7
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(light, deep, strict=True))
