"""An LSTM's cell state at every position as a loop in a graph: ONNX's own LSTM tells the last one only."""

import inspect
import warnings
from functools import cache
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


def walk(
    layer: nn.Module, x: Float[Tensor, "B T _"], real: Bool[Tensor, "B T"] | None, way: str
) -> Float[Tensor, "B T W"]:
    """One direction of a layer step by step, padding leaving the state as it was."""
    weights = [getattr(layer, f"{name}_l0{way}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    keep_BT = torch.ones_like(x[..., 0]) if real is None else real.to(x.dtype)
    if not way:
        return _loop()(x, keep_BT, *weights)
    return _loop()(x.flip(1), keep_BT.flip(1), *weights).flip(1)


@cache
def _loop() -> Any:
    """The steps as the exporter takes a loop: traced, they would be as many as when they were traced."""
    with warnings.catch_warnings():
        # Deprecated for exporters that know no such loops without another package.
        warnings.simplefilter("ignore")
        return torch.jit.script(inspect.unwrap(_steps))


def _steps(x: Tensor, keep: Tensor, into: Tensor, across: Tensor, bias_into: Tensor, bias_across: Tensor) -> Tensor:
    hidden = torch.zeros_like(x[:, 0, :1]) @ torch.zeros_like(across[:1])
    cell = hidden
    cells = []
    for place in range(x.shape[1]):
        gates = x[:, place] @ into.t() + bias_into + hidden @ across.t() + bias_across
        taken, kept, new, told = gates.chunk(4, 1)
        new_cell = torch.sigmoid(kept) * cell + torch.sigmoid(taken) * torch.tanh(new)
        new_hidden = torch.sigmoid(told) * torch.tanh(new_cell)
        real = keep[:, place].unsqueeze(1)
        hidden, cell = hidden + real * (new_hidden - hidden), cell + real * (new_cell - cell)
        cells.append(cell * real)
    return torch.stack(cells, 1)
