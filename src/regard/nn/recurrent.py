"""Recurrent layers over ragged batches: LSTM and GRU, both ways, several layers, with states batch first."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.attention import Tap
from regard.config import Settings
from regard.errors import ModelError


class RecurrentSettings(Settings):
    """One stack of recurrent layers; both ways, each direction has half of the width."""

    cell: Literal["lstm", "gru"] = "lstm"
    width: int = 512
    layers: int = 1
    both_ways: bool = False
    dropout: float = 0.1


@dataclass(frozen=True)
class Carry:
    """What a recurrent stack carries to its next step: hidden states, and an LSTM's cells, layers side by side."""

    hidden: Float[Tensor, "B L W"]
    cells: Float[Tensor, "B L W"] | None = None

    def select(self, rows: Int[Tensor, " R"]) -> "Carry":
        return Carry(self.hidden[rows], None if self.cells is None else self.cells[rows])


class Recurrent(nn.Module):
    """A stack of torch's own LSTM or GRU layers; padding changes nothing, and an empty text gives zeros."""

    def __init__(self, settings: RecurrentSettings, inputs: int) -> None:
        super().__init__()
        self.settings = settings
        ways = 2 if settings.both_ways else 1
        if settings.width % ways:
            raise ModelError(f"Both ways, a recurrent width of {settings.width} must be even.")
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}[settings.cell]
        widths = [inputs] + [settings.width] * (settings.layers - 1)
        self.blocks = nn.ModuleList(
            kind(width, settings.width // ways, batch_first=True, bidirectional=settings.both_ways) for width in widths
        )
        self.dropout = nn.Dropout(settings.dropout)
        self.states = Tap("BTD")
        self._start()

    def _start(self) -> None:
        """Matrices by Xavier, recurrent ones orthogonal, and an LSTM's forget gate open by one."""
        for name, parameter in self.named_parameters():
            if "weight_hh" in name:
                for gate in parameter.data.chunk(4 if self.settings.cell == "lstm" else 3):
                    nn.init.orthogonal_(gate)
            elif "weight_ih" in name:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)
                if self.settings.cell == "lstm" and "bias_ih" in name:
                    parameter.data.chunk(4)[1].fill_(1.0)

    def forward(
        self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None, carry: Carry | None = None
    ) -> tuple[Float[Tensor, "B T W"], Carry]:
        """States of all positions (zeros at padding), and what is carried on from each text's last real one."""
        lengths = None if real is None else _lengths(real)
        ends: list[tuple[Tensor, Tensor | None]] = []
        for depth, layer in enumerate(self.blocks):
            x = self.dropout(x) if depth else x
            x, end = _run(layer, x, lengths, _layer_carry(carry, depth))
            ends.append(end)
        x = self.states(x if real is None else x * real[..., None])
        return x, _gathered(ends, lengths)

    def cells(self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T W"]:
        """The last layer's cell state at every position, for attention that looks things up by cells."""
        if self.settings.cell != "lstm":
            raise ModelError(f"A {self.settings.cell} has no cell states; set cell = 'lstm' to look things up by them.")
        lengths = None if real is None else _lengths(real)
        for layer in self.blocks[:-1]:
            x, _ = _run(layer, x, lengths, None)
        ways = [_walk(self.blocks[-1], x, real, "")]
        if self.settings.both_ways:
            ways.append(_walk(self.blocks[-1], x, real, "_reverse"))
        return torch.cat(ways, dim=-1)


def _run(
    layer: nn.Module, x: Tensor, lengths: Tensor | None, carry: tuple[Tensor, ...] | Tensor | None
) -> tuple[Tensor, tuple[Tensor, Tensor | None]]:
    """One layer over a ragged batch; the empty texts are run as one step and silenced afterwards."""
    if lengths is None:
        out, end = layer(x, carry)
    else:
        packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        out, end = layer(packed, carry)
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
    return out, (end if isinstance(end, tuple) else (end, None))


def _layer_carry(carry: Carry | None, depth: int) -> tuple[Tensor, Tensor] | Tensor | None:
    if carry is None:
        return None
    hidden = carry.hidden[:, depth][None].contiguous()
    return hidden if carry.cells is None else (hidden, carry.cells[:, depth][None].contiguous())


def _gathered(ends: list[tuple[Tensor, Tensor | None]], lengths: Tensor | None) -> Carry:
    """The ends of all layers, directions side by side; zeros for a text with nothing in it."""
    hidden = torch.stack([end[0].transpose(0, 1).flatten(1) for end in ends], dim=1)
    cells = [end[1].transpose(0, 1).flatten(1) for end in ends if end[1] is not None]
    alive = 1.0 if lengths is None else (lengths > 0)[:, None, None]
    return Carry(hidden * alive, torch.stack(cells, dim=1) * alive if cells else None)


def _lengths(real: Bool[Tensor, "B T"]) -> Int[Tensor, " B"]:
    lengths = real.sum(1)
    if not bool((real == (torch.arange(real.shape[1], device=real.device) < lengths[:, None])).all()):
        raise ModelError("Recurrent layers read from the left, so padding must follow the text, not stand within it.")
    return lengths


def _walk(layer: nn.Module, x: Tensor, real: Tensor | None, way: str) -> Float[Tensor, "B T W"]:
    """An LSTM step by step in one direction, keeping its cells; padding leaves the state as it was."""
    weights = [getattr(layer, f"{name}_l0{way}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    hidden = x.new_zeros(x.shape[0], weights[1].shape[1])
    cell, cells = hidden, [hidden] * x.shape[1]
    for place in reversed(range(x.shape[1])) if way else range(x.shape[1]):
        new_hidden, new_cell = torch.lstm_cell(x[:, place], (hidden, cell), *weights)
        keep = 1.0 if real is None else real[:, place, None].to(x.dtype)
        hidden, cell = hidden + keep * (new_hidden - hidden), cell + keep * (new_cell - cell)
        cells[place] = cell * keep
    return torch.stack(cells, dim=1)
