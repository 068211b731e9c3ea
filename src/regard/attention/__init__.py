"""Attention, all of it: score x scope x normalizer x position x mask x heads x output, by name.

Tensors in, tensors out. Shapes: B examples, R rows (examples x beams), H heads, G groups of keys, Q queries, K keys,
D width, E width of a head's query, A of a prepared key, W of a value.
"""

from regard.attention.copying import PointerGenerator, copied, coverage_penalty
from regard.attention.heads import (
    Attention,
    AttentionPooling,
    AttentionSettings,
    Focus,
    HeadsSettings,
    Hops,
    MultiHeadAttention,
)
from regard.attention.initialization import INITIALIZERS, linear, start
from regard.attention.kernels import KERNELS
from regard.attention.leaks import reach
from regard.attention.masks import FREE, LOOK_AHEAD, Mask, look_ahead, padding, pairs, real_keys, window
from regard.attention.mechanism import Mechanism, MechanismSettings
from regard.attention.memory import Attended, History, Memory
from regard.attention.normalizers import NORMALIZERS
from regard.attention.outputs import OUTPUTS
from regard.attention.places import At, Sizes
from regard.attention.positions import POSITIONS, Position
from regard.attention.scopes import SCOPES
from regard.attention.scores import SCORES
from regard.attention.taps import Check, Record, Tap, matching, record, replace, replaced, taps, variances, watched

__all__ = [
    "FREE",
    "INITIALIZERS",
    "KERNELS",
    "LOOK_AHEAD",
    "NORMALIZERS",
    "OUTPUTS",
    "POSITIONS",
    "SCOPES",
    "SCORES",
    "At",
    "Attended",
    "Attention",
    "AttentionPooling",
    "AttentionSettings",
    "Check",
    "Focus",
    "HeadsSettings",
    "History",
    "Hops",
    "Mask",
    "Mechanism",
    "MechanismSettings",
    "Memory",
    "MultiHeadAttention",
    "PointerGenerator",
    "Position",
    "Record",
    "Sizes",
    "Tap",
    "copied",
    "coverage_penalty",
    "linear",
    "look_ahead",
    "matching",
    "padding",
    "pairs",
    "reach",
    "real_keys",
    "record",
    "replace",
    "replaced",
    "start",
    "taps",
    "variances",
    "watched",
    "window",
]
