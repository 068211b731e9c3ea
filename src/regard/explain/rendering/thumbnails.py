"""Many maps at a glance: layers downwards and heads across, or one after the other."""

from collections.abc import Iterator, Sequence
from math import ceil, sqrt

from regard.explain.attribution import Attribution
from regard.explain.rendering.colours import FAINT
from regard.explain.rendering.labels import visible, wrapped
from regard.explain.rendering.matrix import blocks
from regard.explain.rendering.scene import Part, Scene, Text, around, moved
from regard.explain.rendering.shown import Shown, figure, heading, notes, shown

SIDE, STEP, NAMED = 92.0, 106.0, 150.0


def thumbnails(maps: Sequence[Attribution]) -> Scene:
    """The scene of many explanations, each small and on its own scale, the largest weight beneath it."""
    seen = [shown(attribution) for attribution in maps]
    layered = _layered(maps)
    parts = [*(_by_place(seen) if layered else _in_order(seen))]
    left, top, right, bottom = around(parts)
    title = visible(heading(maps[0]))
    told = f"{len(maps)} maps, each on its own scale: the figure is its largest weight between texts."
    lines = [line for note in [told, *notes(seen)] for line in wrapped(note, max(right - left, 460), 12)]
    words = [Text(left, bottom + 28 + 17 * number, line, 12, FAINT) for number, line in enumerate(lines)]
    return Scene((Text(left, top - 20, title, 17, bold=True), *parts, *words), f"{title}. {told}")


def _layered(maps: Sequence[Attribution]) -> bool:
    """Whether every map has a place among layers and heads that no other has."""
    places = {(one.layer, one.head) for one in maps}
    return len(places) == len(maps) and not any(None in place for place in places)


def _by_place(seen: Sequence[Shown]) -> Iterator[Part]:
    layers = sorted({one.map.layer for one in seen if one.map.layer is not None})
    heads = sorted({one.map.head for one in seen if one.map.head is not None})
    yield from (Text(STEP * x + SIDE / 2, -10, f"head {head}", 12, FAINT, "middle") for x, head in enumerate(heads))
    for y, layer in enumerate(layers):
        yield Text(-12, (STEP + 14) * y + SIDE / 2, f"layer {layer}", 12, FAINT, "end")
    for one in seen:
        if one.map.layer is not None and one.map.head is not None:
            yield from moved(_small(one), STEP * heads.index(one.map.head), (STEP + 14) * layers.index(one.map.layer))


def _in_order(seen: Sequence[Shown]) -> Iterator[Part]:
    across = min(ceil(sqrt(len(seen)) * 1.3), 10)
    for number, one in enumerate(seen):
        named = wrapped(one.map.source, NAMED - 10, 11)[:2]
        x, y = number % across * NAMED, number // across * (STEP + 50)
        yield from moved(_small(one), x, y)
        yield from (Text(x, y + SIDE + 30 + 14 * line, name, 11, FAINT) for line, name in enumerate(named))


def _small(one: Shown) -> tuple[Part, ...]:
    rows, columns = one.map.weights.shape
    told = Text(0, SIDE + 14, figure(one.scale, one.scale), 11, FAINT)
    return (*blocks(one, (SIDE - 4) / max(1, columns), (SIDE - 4) / max(1, rows), 4), told)
