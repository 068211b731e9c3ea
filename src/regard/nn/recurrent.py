"""Recurrent layers over ragged batches: LSTM and GRU, both ways, several layers, with states batch first."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.attention import Tap
from regard.config import Layers, Rate, Settings
from regard.errors import ConfigError, ModelError
from regard.nn.dropout import Dropout

# So far is a gate driven that rounding leaves 0 or 1 of it, whatever else comes in.
HELD = 1e4


class RecurrentSettings(Settings):
    """One stack of recurrent layers; both ways, each direction has half of the width."""

    cell: Literal["lstm", "gru"] = "lstm"
    width: PositiveInt = 512
    layers: Layers = 1
    both_ways: bool = False
    dropout: Rate = 0.1


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
        # How a layer's cells are come by; whoever draws a graph, for which loops are unrolled, has another way.
        self.walk: Callable[[nn.Module, Tensor, Tensor | None, str], Tensor] = _walk
        ways = 2 if settings.both_ways else 1
        if settings.width % ways:
            raise ConfigError(f"Both ways, a recurrent width of {settings.width} must be even.")
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}[settings.cell]
        widths = [inputs] + [settings.width] * (settings.layers - 1)
        self.blocks = nn.ModuleList(
            kind(width, settings.width // ways, batch_first=True, bidirectional=settings.both_ways) for width in widths
        )
        self.dropout = Dropout(settings.dropout)
        self.states = Tap("BTD")
        self._start()

    def _start(self) -> None:
        """Each gate's matrix by Xavier, recurrent ones orthogonal, and an LSTM's forget gate open by one."""
        for name, parameter in self.named_parameters():
            gates = parameter.data.chunk(4 if self.settings.cell == "lstm" else 3)
            for gate in gates:
                if "weight" in name:
                    (nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_)(gate)
                else:
                    nn.init.zeros_(gate)
            if self.settings.cell == "lstm" and "bias_ih" in name:
                gates[1].fill_(1.0)

    def forward(
        self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None, carry: Carry | None = None
    ) -> tuple[Float[Tensor, "B T W"], Carry]:
        """States of all positions (zeros at padding), and what is carried on from each text's last real one."""
        states, end, _ = self._read(x, real, carry)
        return states, end

    def with_cells(
        self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T W"], Carry, Float[Tensor, "B T W"]]:
        """The same, and the last layer's cell state at every position, for attention that looks things up by cells."""
        if self.settings.cell != "lstm":
            raise ModelError(f"A {self.settings.cell} has no cell states; set cell = 'lstm' to look things up by them.")
        states, end, below = self._read(x, real, None)
        ways = ("", "_reverse") if self.settings.both_ways else ("",)
        return states, end, torch.cat([self.walk(self.blocks[-1], below, real, way) for way in ways], dim=-1)

    def _read(
        self, x: Float[Tensor, "B T _"], real: Bool[Tensor, "B T"] | None, carry: Carry | None
    ) -> tuple[Float[Tensor, "B T W"], Carry, Float[Tensor, "B T _"]]:
        """States, what is carried on, and what the last layer was given to read."""
        lengths, below = None if real is None else _lengths(real), x
        ends: list[tuple[Tensor, Tensor | None]] = []
        for depth, layer in enumerate(self.blocks):
            below = self.dropout(x) if depth else x
            x, end = _run(layer, below, lengths, _layer_carry(carry, depth))
            ends.append(end)
        return self.states(x if real is None else x * real[..., None]), _gathered(ends, lengths), below


def _run(
    layer: nn.Module, x: Tensor, lengths: Tensor | None, carry: tuple[Tensor, ...] | Tensor | None
) -> tuple[Tensor, tuple[Tensor, Tensor | None]]:
    """One layer over a ragged batch; the empty texts are run as one step and silenced afterwards."""
    if lengths is None:
        out, end = layer(x, carry)
    elif x.device.type == "cpu":
        return _padded(layer, x, lengths.clamp(min=1), carry)
    else:
        packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        out, end = layer(packed, carry)
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
    return out, (end if isinstance(end, tuple) else (end, None))


def _padded(
    layer: Any, x: Float[Tensor, "B T _"], lengths: Int[Tensor, " B"], carry: tuple[Tensor, ...] | Tensor | None
) -> tuple[Tensor, tuple[Tensor, Tensor | None]]:
    """One layer over a padded batch whose padding holds the state still: backward through torch's packed batches takes
    a time on CPU that grows with the square of the length.

    One more input is 1 at padding and drives the gates there as far as they go: an LSTM forgets nothing and takes
    nothing in, a GRU keeps all it has. So both directions run in one call, and nothing of the padding is left over.
    """
    batch, length = x.shape[:2]
    padding_BT = torch.arange(length, device=x.device) >= lengths[:, None]
    given = torch.cat([x, padding_BT[..., None].to(x.dtype)], dim=-1)
    ways, lstm = 2 if layer.bidirectional else 1, isinstance(layer, nn.LSTM)
    weights = [_held(weight, layer) if number % 4 == 0 else weight for number, weight in enumerate(layer._flat_weights)]
    start = given.new_zeros(ways, batch, layer.hidden_size)
    begun: Any = carry if carry is not None else ((start, start) if lstm else start)
    options = (True, 1, 0.0, layer.training, layer.bidirectional, True)
    if not lstm:
        out, hidden = torch.gru(given, begun, weights, *options)
        return out, (hidden, None)
    out, _, cells = torch.lstm(given, begun, weights, *options)
    # What an LSTM puts out is not held still, only its cells are.
    last_B1W = (lengths - 1)[:, None, None].expand(-1, 1, layer.hidden_size)
    ends = [out[..., : layer.hidden_size].gather(1, last_B1W)[:, 0], out[:, 0, layer.hidden_size :]]
    return out, (torch.stack(ends[:ways]), cells)


def _held(weight: Float[Tensor, "gates D"], layer: Any) -> Float[Tensor, "gates inputs"]:
    """The weights of the inputs with those of the one more; gates are in, forget, cell, out, or reset, update, new."""
    shut = (-HELD, HELD, 0.0, 0.0) if isinstance(layer, nn.LSTM) else (0.0, HELD, 0.0)
    column = weight.new_tensor(shut).repeat_interleave(layer.hidden_size)
    return torch.cat([weight, column[:, None]], dim=1)


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
