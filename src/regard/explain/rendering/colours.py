"""Colours that people with any kind of colour vision can tell apart: blue for, orange against.

Both run in equal steps from the paper's own colour, so half the weight is half-way along the bar of the legend.
"""

from functools import cache

import numpy as np
from jaxtyping import Float, UInt8

INK, FAINT, PAPER = "#1f2933", "#5f6c7b", "#ffffff"
FOR = ("#f3f6f9", "#c1d9ef", "#72aedd", "#2b77b7", "#0b3a6e")
AGAINST = ("#f3f6f9", "#fad7ad", "#f0a150", "#c5640f", "#773405")
# The same for a dark page, where more is lighter.
FOR_DARK = ("#1a222c", "#1d4468", "#2b77b7", "#78b7ea", "#e2f1ff")
AGAINST_DARK = ("#1a222c", "#57350f", "#b0620f", "#f0a850", "#ffe8c9")
# Steps from no weight to all of it.
STEPS = 255


def colours(shares: Float[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "*shape 3"]:
    """The colour of each share of the scale, from -1 (all against) to 1 (all for); what is beyond counts as the end."""
    return _table()[np.rint((np.clip(shares, -1, 1) + 1) * STEPS).astype(np.intp)]


@cache
def _table() -> UInt8[np.ndarray, "both_sides 3"]:
    stops = np.array([_parts(stop) for stop in (*reversed(AGAINST[1:]), *FOR)], dtype=np.float64)
    at, places = np.linspace(-1, 1, 2 * STEPS + 1), np.linspace(-1, 1, len(stops))
    channels = [np.interp(at, places, stops[:, channel]) for channel in range(3)]
    return np.stack(channels, axis=-1).round().astype(np.uint8)


def _parts(stop: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(stop[1:]))


def coded(colour: UInt8[np.ndarray, "3"]) -> str:
    """The colour as the web writes it.

    >>> coded(np.array([255, 0, 16], dtype=np.uint8))
    '#ff0010'
    """
    return "#" + colour.tobytes().hex()


def ink(colour: UInt8[np.ndarray, "3"]) -> str:
    """The ink that can be read on this colour."""
    red, green, blue = (int(part) for part in colour)
    return INK if 0.3 * red + 0.59 * green + 0.11 * blue > 128 else PAPER
