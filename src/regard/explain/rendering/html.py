"""An explanation as one HTML file that needs nothing else: no network, no other file, light or dark."""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from regard.explain.attribution import Attribution, Axis
from regard.explain.rendering.colours import AGAINST, AGAINST_DARK, FOR, FOR_DARK
from regard.explain.rendering.labels import segments, tail, visible
from regard.explain.rendering.shown import Maps, heading, listed, notes, shown

SCRIPTS = ("strings.js", "maps.js", "texts.js", "matrix.js", "page.js")
_HALF = re.compile("[\ud800-\udfff]")
# Up to so many cells a weight has two bytes, and its figures are those of every other picture; beyond that it has one.
FINE = 50_000
PALETTE = {"light": {"for": FOR, "against": AGAINST}, "dark": {"for": FOR_DARK, "against": AGAINST_DARK}}


def html(maps: Maps) -> bytes:
    """An explanation, or several to choose from, as a page; the browser may run our script in it and nothing else."""
    found = listed(maps)
    style, script = _asset("style.css"), _script()
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'"
    lines = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(visible(heading(found[0])))}</title>\n<style>{style}</style>\n</head>\n<body>",
        '<main id="app"><noscript>This page draws its picture with a script; the .svg needs none.</noscript></main>',
        f'<script type="application/json" id="data">{_written(found)}</script>',
        f"<script>{script}</script>\n</body>\n</html>\n",
    ]
    # Half a character, which a broken text may hold, has no UTF-8; a browser would show the same sign for it.
    return _HALF.sub("\ufffd", "\n".join(lines)).encode()


def _written(found: Sequence[Attribution]) -> str:
    """The data as JSON in which no text can end the element it stands in."""
    # Heads of one model share axes and probabilities, which are stored once.
    sures = {sure: number for number, sure in enumerate(dict.fromkeys(one.probabilities for one in found))}
    axes = {axis: number for number, axis in enumerate(dict.fromkeys(_axes(found)))}
    wide = sum(attribution.weights.size for attribution in found) <= FINE
    content = {
        "palette": PALETTE,
        "axes": [_axis(axis) for axis in axes],
        "probabilities": [sure and [round(share, 6) for share in sure] for sure in sures],
        "maps": [
            _map(attribution, axes, wide) | {"probabilities": sures[attribution.probabilities]} for attribution in found
        ],
    }
    plain = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _axes(found: Sequence[Attribution]) -> list[Axis]:
    return [axis for attribution in found for axis in (attribution.outputs, attribution.inputs)]


def _axis(axis: Axis) -> dict[str, Any]:
    """The units as they stand in the text; the browser counts characters differently, so it is given no spans."""
    special = [number for number, unit in enumerate(axis.units) if unit.special]
    return {"units": [[one.gap, one.text] for one in segments(axis)], "tail": tail(axis), "special": special}


def _map(attribution: Attribution, axes: dict[Axis, int], wide: bool) -> dict[str, Any]:
    seen = shown(attribution)
    special = np.array([unit.special for unit in attribution.inputs.units], dtype=bool)
    return {
        "method": heading(attribution),
        "source": attribution.source,
        "notes": notes([seen]),
        "signed": attribution.signed,
        "scale": seen.scale,
        "outputs": axes[attribution.outputs],
        "inputs": axes[attribution.inputs],
        "weights": _stored(attribution.weights, special, attribution.signed, wide),
        "error": None if attribution.error is None else _stored(attribution.error, special, False, wide),
        "layer": attribution.layer,
        "head": attribution.head,
    }


def _stored(
    values: Float[np.ndarray, "o i"], special: Bool[np.ndarray, " i"], signed: bool, wide: bool
) -> dict[str, Any]:
    found = quantized(values, special, signed, wide)
    packed = b64encode(found.whole.astype("<u2" if wide else np.uint8).tobytes()).decode()
    return {"bytes": packed, "wide": wide, "zero": found.zero, "steps": found.steps, "ranges": found.ranges}


@dataclass(frozen=True)
class Quantized:
    """value = (whole - zero) / steps x range; what is text and what is not have a range each. Zero is exact."""

    whole: Int[np.ndarray, "o i"]
    zero: int
    steps: int
    ranges: tuple[float, float]


def quantized(values: Float[np.ndarray, "o i"], special: Bool[np.ndarray, " i"], signed: bool, wide: bool) -> Quantized:
    """Values as whole numbers of one byte, or of two; the ranges are the largest values there are."""
    text, apart = (float(np.abs(values[:, side]).max(initial=0)) or 1.0 for side in (~special, special))
    most = 65535 if wide else 255
    steps, zero = ((most - 1) // 2, (most + 1) // 2) if signed else (most, 0)
    shares = values.astype(np.float64) / np.where(special, apart, text)
    return Quantized((np.rint(shares * steps) + zero).clip(0).astype(np.int64), zero, steps, (text, apart))


@cache
def _asset(name: str) -> str:
    return (files("regard.explain.rendering") / "page" / name).read_text("utf-8")


def _script() -> str:
    return '(() => {\n"use strict";\n' + "".join(_asset(name) for name in SCRIPTS) + "})();"


def _hash(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()
