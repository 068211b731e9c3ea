"""Pictures as SVG: text stays text, so any script the viewer has letters for is shown."""

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np
from jaxtyping import Float

from regard.explain.attribution import Attribution, Axis, Unit
from regard.explain.rendering.bitmap import address
from regard.explain.rendering.colours import PAPER, coded
from regard.explain.rendering.matrix import matrix
from regard.explain.rendering.pictures import picture
from regard.explain.rendering.scene import Box, Cells, Part, Scene, Text
from regard.explain.rendering.shown import Maps, shown

FONTS = "Helvetica, Arial, 'DejaVu Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
HATCH = (
    '<defs><pattern id="regard-hatch" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<path d="M-1 6L6 -1M-1 1L1 -1M4 6L6 4" stroke="#8a97a6" stroke-width="1"/></pattern></defs>'
)
# A cell smaller than this keeps no distance to its neighbours.
SPACED = 8.0


def svg(maps: Maps) -> str:
    """An explanation, or several, as an SVG picture."""
    return painted(picture(maps))


def heat(
    weights: Float[np.ndarray, "rows columns"], rows: Sequence[str], columns: Sequence[str], title: str, note: str = ""
) -> str:
    """A matrix of weights between 0 and 1, the darker the more; each cell tells its number when pointed at."""
    outputs, inputs = (Axis("", tuple(map(Unit, names))) for names in (rows, columns))
    return painted(matrix(shown(Attribution(title, outputs, inputs, weights, caveat=note), scale=1.0)))


def painted(scene: Scene) -> str:
    """The scene as SVG; the same scene is the same text."""
    left, top, right, bottom = scene.frame
    width, height = right - left, bottom - top
    place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="{FONTS}" '
        f'role="img" aria-label="{escape(scene.title)}">'
    )
    lines = [line for part in scene.parts for line in _drawn(part)]
    return "\n".join([opening, HATCH, f'<rect {place} fill="{PAPER}"/>', *lines, "</svg>"]) + "\n"


def _drawn(part: Part) -> Iterator[str]:
    match part:
        case Text():
            yield _text(part)
        case Box():
            yield from _box(part)
        case Cells():
            yield from _cells(part)


def _text(part: Text) -> str:
    x, y = f"{part.x:.1f}", f"{part.y:.1f}"
    extra = f' text-anchor="{part.anchor}"' if part.anchor != "start" else ""
    extra += ' font-weight="600"' if part.bold else ""
    extra += f' transform="rotate({part.angle:g} {x} {y})"' if part.angle else ""
    return f'<text x="{x}" y="{y}" font-size="{part.size:g}" fill="{part.colour}"{extra}>{escape(part.text)}</text>'


def _box(part: Box) -> Iterator[str]:
    place = f'x="{part.x:.1f}" y="{part.y:.1f}" width="{part.width:.1f}" height="{part.height:.1f}"'
    hint = f"<title>{escape(part.hint)}</title>" if part.hint else ""
    yield f'<rect {place} rx="3" fill="{part.fill}">{hint}</rect>'
    if part.hatched:
        yield _hatching(place)


def _hatching(place: str) -> str:
    """Lines over what is no text; what lies under them can still be pointed at."""
    return f'<rect {place} fill="url(#regard-hatch)" pointer-events="none"/>'


def _cells(part: Cells) -> Iterator[str]:
    left, top, right, bottom = part.frame
    if part.hints:
        yield from _single_cells(part)
    else:
        yield (
            f'<image x="{left:.1f}" y="{top:.1f}" width="{right - left:.2f}" height="{bottom - top:.2f}" '
            f'preserveAspectRatio="none" style="image-rendering:pixelated" href="{address(part.colours)}"/>'
        )
    if part.hatched:
        yield _hatching(f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"')


def _single_cells(part: Cells) -> Iterator[str]:
    wide, high = part.cell_width, part.cell_height
    between = 2.0 if min(wide, high) >= SPACED else 0.0
    for row, told in enumerate(part.hints):
        for column, hint in enumerate(told):
            x, y = part.x + column * wide + between / 2, part.y + row * high + between / 2
            place = f'x="{x:.1f}" y="{y:.1f}" width="{wide - between:.2f}" height="{high - between:.2f}"'
            fill = coded(part.colours[row, column])
            yield f'<rect {place} rx="{between:g}" fill="{fill}"><title>{escape(hint)}</title></rect>'
