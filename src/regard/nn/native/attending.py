"""Softmax attention to learn from, forward and backward, of texts too short for torch's kernel to be at its best."""

from ctypes import byref
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from regard.attention.kernels import Flash, How
from regard.nn.native.kernels import PANEL, kernels, numbers, serves, threads
from regard.nn.native.structures import Learned

LONGEST = 1024
"""Keys or queries of a text beyond which torch's kernel, which works in tiles, has it (`benchmarks/attending.py`)."""

Asked = Float[Tensor, "B H Q E"]
Known = Float[Tensor, "B G S E"]
Bias = Float[Tensor, "_ _ _ S"]


def attending(query: Tensor, keys: Tensor, values: Tensor) -> Flash | None:
    """The kernels, where they can read this and are faster."""
    alike = keys.shape == values.shape and query.shape[::3] == keys.shape[::3] and query.shape[1] % keys.shape[1] == 0
    short = 0 < query.shape[2] <= LONGEST and 0 < keys.shape[2] <= LONGEST and query.numel() > 0
    # Gradients are none of theirs: they are asked for them.
    with torch.no_grad():
        return KERNELS if alike and short and serves(query, keys, values) else None


def attend(
    query: Asked, keys: Known, values: Known, bias: Bias | None, how: How
) -> tuple[Asked, Float[Tensor, "B H Q"]]:
    """The context, laid out as the next layer reads it, and the log-sum-exp of scores; zeros for who sees nothing."""
    made, lse = _beside(query), query.new_empty(query.shape[:3])
    asked, _alive = _asked(query, keys, values, bias, how)
    asked.made, asked.made_lse, asked.made_steps = made.data_ptr(), lse.data_ptr(), _steps(made)
    kernels().regard_learn_attending(byref(asked))
    return made, lse


def attend_back(
    d_out: Asked,
    query: Asked,
    keys: Known,
    values: Known,
    out: Asked,
    lse: Float[Tensor, "B H Q"],
    bias: Bias | None,
    how: How,
) -> tuple[Asked, Known, Known]:
    """The gradients of queries, keys and values."""
    asked, _alive = _asked(query, keys, values, bias, how)
    d_out, out, lse = (each if each.stride(-1) == 1 else each.contiguous() for each in (d_out, out, lse.contiguous()))
    made = _beside(query), _beside(keys), _beside(values)
    asked.out, asked.lse, asked.d_out = out.data_ptr(), lse.data_ptr(), d_out.data_ptr()
    asked.out_steps, asked.d_out_steps = _steps(out), _steps(d_out)
    asked.d_query, asked.d_keys, asked.d_values = map(Tensor.data_ptr, made)
    asked.made_steps, asked.made_key_steps, asked.made_value_steps = map(_steps, made)
    kernels().regard_learn_attending_back(byref(asked))
    return made


KERNELS = Flash(attend, attend_back, drops=True)


def _asked(query: Asked, keys: Known, values: Known, bias: Bias | None, how: How) -> tuple[Learned, list[Tensor]]:
    """What the kernels are told, and what it points to that nobody else holds."""
    batch, heads, queries, width = query.shape
    asked = Learned(
        B=batch, H=heads, G=keys.shape[1], Q=queries, S=keys.shape[2], E=width, causal=how.causal, threads=threads(),
        scale=how.scale, query=query.data_ptr(), keys=keys.data_ptr(), values=values.data_ptr(),
        query_steps=_steps(query), key_steps=_steps(keys), value_steps=_steps(values),
    )  # fmt: skip
    alive: list[Tensor] = []
    if bias is not None:
        spread = bias.to(query.dtype).expand(batch, heads, queries, keys.shape[2])
        spread = spread if spread.stride(-1) == 1 or keys.shape[2] == 1 else spread.contiguous()
        asked.bias, asked.bias_steps = spread.data_ptr(), _steps(spread)
        alive.append(spread)
    if how.marks is not None:
        rows, columns = how.marks.rows.contiguous(), pad(how.marks.columns, (0, -len(how.marks.columns) % PANEL))
        asked.row_marks, asked.column_marks = rows.data_ptr(), columns.data_ptr()
        asked.least, asked.grown = how.marks.least, how.marks.grown
        alive += [rows, columns]
    return asked, alive


def _beside(like: Float[Tensor, "B H T E"]) -> Float[Tensor, "B H T E"]:
    """Room for as much, the heads of a piece side by side."""
    batch, heads, pieces, width = like.shape
    return like.new_empty(batch, pieces, heads, width).transpose(1, 2)


def _steps(tensor: Tensor) -> Any:
    return numbers(*tensor.stride()[:3])
