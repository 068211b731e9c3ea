"""What the kernels are given, laid out as in `kernels.cpp`."""

from ctypes import POINTER, Structure, c_double, c_int64, c_void_p

NORM_KINDS = {"none": 0, "layer": 1, "rms": 2}
# How a walk ended: all went on; something was left to whoever asked; there was a NaN.
GOING, LEFT, BROKEN = 0, 1, 2
ACTIVATION_KINDS = {"relu": 0, "gelu": 1, "gelu_tanh": 2, "silu": 3}


class Norm(Structure):
    """Its kind, its parameters and what keeps it from dividing by zero."""

    _fields_ = (("kind", c_int64), ("gain", c_void_p), ("bias", c_void_p), ("epsilon", c_double))


class Linear(Structure):
    """Panels of weights, their scales where they are in eight bits, a bias or nothing."""

    _fields_ = (
        ("panels", c_void_p),
        ("scales", c_void_p),
        ("bias", c_void_p),
        ("out", c_int64),
        ("inputs", c_int64),
    )


class Heads(Structure):
    """An attention's projections, and what norms its queries and keys head by head."""

    _fields_ = (
        ("query", Linear),
        ("key", Linear),
        ("value", Linear),
        ("output", Linear),
        ("heads", c_int64),
        ("groups", c_int64),
        ("scale", c_double),
        ("query_norm", Norm),
        ("key_norm", Norm),
    )


class Around(Structure):
    """The residual around a layer."""

    _fields_ = (("norm", Norm), ("before", c_int64), ("alpha", c_double))


class Block(Structure):
    """A block of a stack."""

    _fields_ = (
        ("own", Heads),
        ("around_own", Around),
        ("crossed", c_int64),
        ("cross", Heads),
        ("around_cross", Around),
        ("inner", Linear),
        ("gate", Linear),
        ("outer", Linear),
        ("gated", c_int64),
        ("activation", c_int64),
        ("around_feedforward", Around),
    )


class Run(Structure):
    """One pass of a stack over new pieces."""

    _fields_ = (
        ("x", c_void_p),
        ("texts", c_int64),
        ("pieces", c_int64),
        ("at", c_int64),
        ("width", c_int64),
        ("kept", c_void_p),
        ("layer_step", c_int64),
        ("value_step", c_int64),
        ("place_step", c_int64),
        ("row_step", c_int64),
        ("origin", c_void_p),
        ("origin_step", c_int64),
        ("look_ahead", c_int64),
        ("bias", c_void_p),
        ("source_keys", POINTER(c_void_p)),
        ("source_values", POINTER(c_void_p)),
        ("sources", c_int64),
        ("sources_left", c_void_p),
        ("source_length", c_int64),
        ("source_step", c_int64),
        ("source_head_step", c_int64),
        ("source_place_step", c_int64),
        ("source_bias", c_void_p),
        ("along", c_void_p),
        ("across", c_void_p),
        ("turned", c_int64),
        ("pairs", c_int64),
        ("last", Norm),
        ("threads", c_int64),
        ("layers", c_int64),
    )


class Ends(Structure):
    """What stands before and after a stack that writes."""

    _fields_ = (
        ("vectors", c_void_p),
        ("factor", c_double),
        ("position", c_void_p),
        ("pieces", c_void_p),
        ("out", Linear),
        ("said", c_void_p),
        ("hidden", c_void_p),
    )


class Choosing(Structure):
    """What beams are to choose from, and where what they chose is set down."""

    _fields_ = (
        ("said", c_void_p),
        ("totals", c_void_p),
        ("live", c_void_p),
        ("ended", c_void_p),
        ("sources", c_int64),
        ("width", c_int64),
        ("vocabulary", c_int64),
        ("banned", c_void_p),
        ("bans", c_int64),
        ("end", c_int64),
        ("size", c_int64),
        ("length", c_int64),
        ("margin", c_double),
        ("easy", c_double),
        ("going", c_void_p),
        ("ending", c_void_p),
        ("rows", c_void_p),
        ("pieces", c_void_p),
        ("values", c_void_p),
        ("sums", c_void_p),
        ("threads", c_int64),
    )


class Walk(Structure):
    """What a walk of several steps keeps of its hypotheses, and where it sets down what each step wrote."""

    _fields_ = (
        ("most", c_int64),
        ("origin", c_void_p),
        ("spare", c_void_p),
        ("places", c_int64),
        ("pieces", c_void_p),
        ("live", c_void_p),
        ("totals", c_void_p),
        ("written_rows", c_void_p),
        ("written_pieces", c_void_p),
        ("written_values", c_void_p),
        ("ended", c_void_p),
        ("kept", c_void_p),
        ("source", c_void_p),
        ("ends_step", c_void_p),
        ("ends_source", c_void_p),
        ("ends_row", c_void_p),
        ("ends_before", c_void_p),
        ("ends_value", c_void_p),
        ("endings", c_int64),
        ("sources", c_int64),
        ("end", c_int64),
    )


class Learned(Structure):
    """One attention that is learned from, forward or backward: where tensors lie, their steps, sizes."""

    _fields_ = (
        *((name, c_void_p) for name in ("query", "keys", "values", "bias", "out", "lse", "d_out")),
        *((f"{name}_steps", c_int64 * 3) for name in ("query", "key", "value", "bias", "out", "d_out")),
        *((name, c_void_p) for name in ("made", "made_lse", "d_query", "d_keys", "d_values")),
        *((f"made{name}_steps", c_int64 * 3) for name in ("", "_key", "_value")),
        *((name, c_int64) for name in ("B", "H", "G", "Q", "S", "E", "causal", "threads")),
        ("scale", c_double),
        *((name, c_void_p) for name in ("row_marks", "column_marks")),
        ("least", c_int64),
        ("grown", c_double),
    )


class Product(Structure):
    """Two matrices by where they lie and how far their numbers are apart, and what comes of them."""

    _fields_ = (
        ("a", c_void_p),
        ("a_row", c_int64),
        ("a_step", c_int64),
        ("b", c_void_p),
        ("b_step", c_int64),
        ("b_column", c_int64),
        ("out", c_void_p),
        ("out_row", c_int64),
        ("bias", c_void_p),
        *((name, c_int64) for name in ("M", "N", "K", "added", "threads")),
    )
