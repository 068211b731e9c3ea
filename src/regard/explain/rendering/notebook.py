"""Explanations in a notebook: the SVG picture in a box that scrolls, without script."""

from regard.explain.rendering.shown import Maps
from regard.explain.rendering.svg import svg


def notebook(maps: Maps) -> str:
    """HTML for the output of a cell."""
    return f'<div style="overflow-x:auto;max-width:100%">{svg(maps)}</div>'
