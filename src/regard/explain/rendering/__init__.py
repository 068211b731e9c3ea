"""Explanations as pictures, pages and text: one function for each kind of file."""

from collections.abc import Callable

from regard.errors import RequestError
from regard.explain.rendering.html import html
from regard.explain.rendering.notebook import notebook
from regard.explain.rendering.plain import plain_json
from regard.explain.rendering.png import png
from regard.explain.rendering.shown import Maps
from regard.explain.rendering.svg import heat, svg
from regard.explain.rendering.terminal import terminal

__all__ = ["RENDERERS", "Maps", "fit", "heat", "html", "notebook", "plain_json", "png", "render", "svg", "terminal"]

RENDERERS: dict[str, Callable[[Maps], bytes]] = {
    ".txt": lambda maps: terminal(maps).encode(),
    ".svg": lambda maps: svg(maps).encode(),
    ".png": png,
    ".html": html,
    ".json": plain_json,
}


def render(maps: Maps, suffix: str) -> bytes:
    """An explanation, or several, as the content of a file with this ending."""
    fit(suffix)
    return RENDERERS[suffix](maps)


def fit(suffix: str) -> None:
    """Refuse an ending that no explanation can be written with."""
    if suffix not in RENDERERS:
        known = ", ".join(RENDERERS)
        raise RequestError(f"Cannot write an explanation as {suffix or 'a file without an ending'!r}; use {known}.")
