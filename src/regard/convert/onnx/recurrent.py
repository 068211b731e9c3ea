"""Recurrent models as graphs: their own steps, with what they keep between them as inputs and outputs."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from regard.attention import Memory
from regard.errors import ConfigError
from regard.models import RecurrentLanguage, RecurrentSequence, State
from regard.models.recurrent import Own, Shared
from regard.nn.recurrent import Carry


def check(model: RecurrentSequence) -> None:
    """A ConfigError for what keeps more between steps than a graph here carries."""
    looks_back = model.attention is not None and model.attention.mechanism.recurrent
    if model.own is not None or model.settings.keys == "cells" or looks_back:
        raise ConfigError(
            "There is no ONNX graph for a model with own_past, with keys = 'cells', or with attention that looks back "
            "at its earlier weights. Use the engine torch."
        )
    position = None if model.attention is None else model.attention.mechanism.settings.position.name
    scope = None if model.attention is None else model.attention.mechanism.settings.scope.name
    if position not in (None, "none") or scope not in (None, "global"):
        raise ConfigError(
            f"There is no ONNX graph for attention with position {position} and scope {scope}: it knows none and "
            "global. Use the engine torch."
        )


class RecurrentStart(nn.Module):
    """source, real -> what is shared (real, summary, pieces, keys and values) and what each output begins with."""

    def __init__(self, model: RecurrentSequence) -> None:
        super().__init__()
        check(model)
        self.model = model

    def forward(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"]) -> tuple[Tensor, ...]:
        state, _ = self.model.start(source, real)
        shared, own = state.shared, state.own
        memory = () if shared.memory is None else (shared.memory.keys, shared.memory.values)
        return (real, shared.summary, shared.pieces, *memory, *_carried(own.carry), own.answer)


class RecurrentStep(nn.Module):
    """pieces and all that start gave -> log-probabilities of the next piece, and the recurrent states after it."""

    def __init__(self, model: RecurrentSequence) -> None:
        super().__init__()
        self.model, self.shared = model, 3 if model.attention is None else 5
        self.lstm = model.settings.decoder.cell == "lstm"

    def forward(self, pieces: Int[Tensor, " R"], *state: Tensor) -> tuple[Tensor, ...]:
        real, summary, read, *memory = state[: self.shared]
        kept = state[self.shared :]
        looked_at = Memory(memory[0], memory[1], real, range(1)) if memory else None
        carry = Carry(kept[0], kept[1] if self.lstm else None)
        own = Own(carry, kept[-1], None, None, 0)
        said_RV, after = self.model.step(pieces, State(Shared(looked_at, summary, read), own))
        return (said_RV, *_carried(after.own.carry), after.own.answer)


class RecurrentLanguageStart(nn.Module):
    """pieces before the last, real -> the recurrent states after them."""

    def __init__(self, model: RecurrentLanguage) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"]) -> tuple[Tensor, ...]:
        return _carried(self.model.decoder(self.model.embedding(source, range(source.shape[1])), real)[1])


class RecurrentLanguageStep(nn.Module):
    """pieces and recurrent states -> log-probabilities of the next piece, and the states after it."""

    def __init__(self, model: RecurrentLanguage) -> None:
        super().__init__()
        self.model = model

    def forward(self, pieces: Int[Tensor, " R"], *state: Tensor) -> tuple[Tensor, ...]:
        said_RV, after = self.model.step(pieces, State(None, Carry(state[0], state[1] if state[1:] else None)))
        return (said_RV, *_carried(after.own))


def _carried(carry: Carry) -> tuple[Tensor, ...]:
    return (carry.hidden,) if carry.cells is None else (carry.hidden, carry.cells)


def sample(size: int) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Two texts of different length to trace with; a mask that hides nothing would be left out of the graph."""
    pieces = torch.arange(14).view(2, 7) % size
    return pieces, torch.arange(7) < torch.tensor([[7], [4]])
