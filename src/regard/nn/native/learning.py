"""Steps of recurrent layers, and the attention they ask, forward and backward: the kernels' form of `nn.asking`."""

from ctypes import c_int64
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor

from regard.nn.native.kernels import address, kernels, numbers, threads

Rows = Float[Tensor, "B D"]
Gates = Float[Tensor, "B F"]


def lstm(gates: Gates, before: Rows, after: Rows, out: Rows) -> None:
    _run(kernels().regard_lstm, gates, before, after, out)


def lstm_back(gates: Gates, before: Rows, after: Rows, d_out: Rows, d_kept: Rows, d_gates: Gates) -> None:
    _run(kernels().regard_lstm_back, gates, before, after, d_out, d_kept, d_gates)


def gru(gates: Gates, before: Rows, after: Rows, out: Rows) -> None:
    _run(kernels().regard_gru, gates, before, after, out)


def gru_back(gates: Gates, before: Rows, after: Rows, d_out: Rows, d_kept: Rows, d_gates: Gates) -> None:
    _run(kernels().regard_gru_back, gates, before, after, d_out, d_kept, d_gates)


def look(
    query: Float[Tensor, "B A"],
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S W"],
    energy: Float[Tensor, " A"],
    real: Bool[Tensor, "B S"],
    weights: Float[Tensor, "B S"],
    answer: Float[Tensor, "B W"],
) -> None:
    given = map(address, (query, keys, values, energy, real, weights, answer))
    kernels().regard_ask(*given, c_int64(answer.stride(0)), _sizes(keys, values), c_int64(threads()))


def look_back(
    query: Float[Tensor, "B A"],
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S W"],
    energy: Float[Tensor, " A"],
    real: Bool[Tensor, "B S"],
    weights: Float[Tensor, "B S"],
    d_answer: Float[Tensor, "B W"],
    d_query: Float[Tensor, "B A"],
    d_keys: Float[Tensor, "B S A"],
    d_energy: Float[Tensor, "B A"],
) -> None:
    given = map(address, (query, keys, values, energy, real, weights, d_answer, d_query, d_keys, d_energy))
    kernels().regard_ask_back(*given, _sizes(keys, values), c_int64(threads()))


def _run(kernel: Any, gates: Tensor, before: Tensor, *tensors: Tensor) -> None:
    rows, width = before.shape
    kernel(*map(address, (gates, before, *tensors)), c_int64(rows), c_int64(width), c_int64(threads()))


def _sizes(keys: Float[Tensor, "B S A"], values: Float[Tensor, "B S W"]) -> Any:
    return numbers(*keys.shape, values.shape[-1])
