"""Explanations on a terminal: shades of blocks, and colours where they are allowed."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

import numpy as np
from rich.cells import cell_len

from regard.explain.rendering.labels import visible
from regard.explain.rendering.pictures import FEW_MAPS
from regard.explain.rendering.shades import AGAINST, FOR, Style
from regard.explain.rendering.shown import Maps, Shown, elsewhere, figure, heading, listed, notes, shown
from regard.explain.rendering.terminal_matrix import bands, lists
from regard.explain.rendering.terminal_texts import texts

# A matrix that needs more blocks of columns than this becomes lists.
MOST_BANDS = 3


def terminal(maps: Maps, width: int = 100, colour: bool = False) -> str:
    """An explanation, or several, as lines of at most so many cells; without colour there are no escape codes."""
    seen = [shown(attribution) for attribution in listed(maps)]
    style = Style(max(width, 20), colour)
    if len(seen) > FEW_MAPS:
        return _finished(_overview(seen, style), seen, style)
    return "\n".join(_finished(_body(one, style), [one], style) for one in seen)


def _finished(body: Sequence[str], seen: Sequence[Shown], style: Style) -> str:
    told = seen[0].map
    title = " · ".join(visible(part) for part in (heading(told), told.source if len(seen) == 1 else "") if part)
    below = [line for note in notes(seen, "behind ‖") for line in wrap(visible(note), style.width)]
    lines = [*wrap(title, style.width), "", *body, "", *(_legend(seen[0], style) if len(seen) == 1 else []), *below]
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _body(seen: Shown, style: Style) -> list[str]:
    if not seen.map.weights.size:
        return wrap("There is nothing to show: no outputs or no inputs.", style.width)
    if seen.as_texts:
        return list(texts(seen, style))
    narrowest = sum(map(cell_len, seen.column_labels))
    found = bands(seen, style) if narrowest <= MOST_BANDS * style.width else []
    return [line for band in found for line in band] if 0 < len(found) <= MOST_BANDS else list(lists(seen, style))


def _legend(seen: Shown, style: Style) -> Iterator[str]:
    """What the shades stand for, in figures."""
    sides = [(1, "for", FOR), (-1, "against", AGAINST)] if seen.map.signed else [(1, "", FOR)]
    for sign, name, marks in sides:
        steps = [sign * (number + 1) / len(marks) for number in range(len(marks))]
        keys = [f"{style.mark(step, 2)} ≈ {figure(step * seen.scale, seen.scale, seen.map.signed)}" for step in steps]
        yield from style.flowing([*([name] if name else []), *keys])


def _overview(seen: Sequence[Shown], style: Style) -> list[str]:
    """One line for each map: its name, what went to no text, and its strongest pair."""
    names = [visible(one.map.source) for one in seen]
    named = min(max(map(cell_len, names)), style.width // 2)
    lines = []
    for one, name in zip(seen, names, strict=True):
        share = elsewhere(one.map)
        apart = "" if share is None else f"{share:4.0%} on no text"
        lines.append(style.cut(f"{style.filled(name, named)}  {apart}  {_strongest(one)}", style.width))
    return lines


def _strongest(one: Shown) -> str:
    text = one.weights[: one.text_rows, : one.text_columns]
    if not text.size:
        return ""
    row, column = (int(place) for place in np.unravel_index(np.abs(text).argmax(), text.shape))
    return f"{one.row_labels[row]} ← {one.column_labels[column]} {one.figure(row, column)}"
