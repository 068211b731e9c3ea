"""Recurrent models as graphs: their own steps, with what they keep between them as inputs and outputs."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from regard.attention import History, Memory
from regard.attention.mechanism import Mechanism
from regard.attention.scopes import Monotonic
from regard.attention.scores import Coverage, LocationAware
from regard.convert.onnx.cells import walk
from regard.convert.onnx.transformer import positions
from regard.errors import ConfigError
from regard.models import RecurrentLanguage, RecurrentSequence, State
from regard.models.recurrent import Own, Shared
from regard.nn.recurrent import Carry


def check(model: RecurrentSequence) -> None:
    """A ConfigError for what begins otherwise than a graph here can say."""
    if model.attention is not None and _begins_twice(model.attention.mechanism):
        raise ConfigError(
            "Regard does not write score = location_aware beside scope = monotonic to ONNX: before the first step one "
            "has looked nowhere and the other stands at the beginning. Use the engine torch."
        )


def _begins_twice(mechanism: Mechanism) -> bool:
    """Whether score and scope both go by the last weights, of which there are none at first."""
    located = (isinstance(part, LocationAware) and not isinstance(part, Coverage) for part in mechanism.modules())
    return isinstance(mechanism.scope, Monotonic) and any(located)


class RecurrentStart(nn.Module):
    """source, real -> what is shared (real, summary, pieces, keys and values) and what each output begins with."""

    def __init__(self, model: RecurrentSequence) -> None:
        super().__init__()
        check(model)
        self.model, self.cells = model, model.settings.keys == "cells"
        model.encoder.layers.walk = walk

    def forward(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"]) -> tuple[Tensor, ...]:
        read = self.model.encoder.read(source, real, self.cells)
        shared, own = self.model.begun(read, source, real, positions(source))
        memory = () if shared.memory is None else (shared.memory.keys, shared.memory.values)
        own = own._replace(history=self._history(real), past=self._past(own.carry), length=positions(source)[:, :1])
        return (real, shared.summary, shared.pieces, *memory, *_kept(own))

    def _history(self, real: Bool[Tensor, "B S"]) -> History | None:
        """What attention that looks back makes of never having looked: nothing anywhere, or all on the first piece."""
        if self.model.attention is None or not self.model.attention.mechanism.recurrent:
            return None
        nowhere_B11S = torch.zeros_like(real, dtype=torch.float32)[:, None, None]
        if not isinstance(self.model.attention.mechanism.scope, Monotonic):
            return History(nowhere_B11S, nowhere_B11S)
        return History((positions(real) == 0).to(torch.float32)[:, None, None], nowhere_B11S)

    def _past(self, carry: Carry) -> Memory | None:
        if self.model.own is None:
            return None
        some = self.model.own.remember(carry.hidden[:, :1])
        return Memory(some.keys[:, :, :0], some.values[:, :, :0], None, range(0))


class RecurrentStep(nn.Module):
    """pieces and all that start gave -> log-probabilities of the next piece, and what each output has after it."""

    def __init__(self, model: RecurrentSequence) -> None:
        super().__init__()
        self.model, self.shared = model, 3 if model.attention is None else 5

    def forward(self, pieces: Int[Tensor, " R"], *state: Tensor) -> tuple[Tensor, ...]:
        real, summary, read, *memory = state[: self.shared]
        looked_at = Memory(memory[0], memory[1], real, positions(real)) if memory else None
        shared = Shared(looked_at, summary, read)
        said_RV, after = self.model.step(pieces, State(shared, self._own(iter(state[self.shared :]))))
        return (said_RV, *_kept(after.own))

    def _own(self, kept: Iterator[Tensor]) -> Own:
        """`_kept` the other way round."""
        lstm = self.model.settings.decoder.cell == "lstm"
        carry, answer, length = Carry(next(kept), next(kept) if lstm else None), next(kept), next(kept)
        looks_back = self.model.attention is not None and self.model.attention.mechanism.recurrent
        history = History(next(kept), next(kept)) if looks_back else None
        if self.model.own is None:
            return Own(carry, answer, history, None, length)
        keys, values = next(kept), next(kept)
        return Own(carry, answer, history, Memory(keys, values, None, positions(keys[:, 0, :, 0])), length)


def _kept(own: Own) -> tuple[Tensor, ...]:
    history = () if own.history is None else (own.history.weights, own.history.total)
    past = () if own.past is None else (own.past.keys, own.past.values)
    return (*_carried(own.carry), own.answer, torch.as_tensor(own.length), *history, *past)


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


def sample(size: int, rows: int = 2, length: int = 7) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Texts of different length to trace with; a mask that hides nothing would be left out of the graph."""
    pieces = torch.arange(rows * length).view(rows, length) % size
    return pieces, torch.arange(length) < length - torch.arange(rows)[:, None]
