"""A Transformer that writes with some of its pieces only, each text with its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from regard.decode.searchers import walk_of
from regard.engines.engine import beside
from regard.models import Start, State, Transformer, Vocabulary
from regard.models.protocols import repeated
from regard.nn import native
from regard.nn.compiled import Kept


class Narrow:
    """A model to a search over the pieces that any of these texts is offered, numbered anew; to each text those that it
    is not offered have no probability, so that it is written as it would be alone."""

    def __init__(self, model: Transformer, offered: Sequence[Int[ndarray, " _"]]) -> None:
        self.pieces = np.unique(np.concatenate(offered))
        given = model.vocabulary
        begin, end = np.searchsorted(self.pieces, (given.begin, given.end)).tolist()
        self.vocabulary = Vocabulary(given.source, len(self.pieces), begin, end)
        self.model = _narrowed(model, self.pieces, self.vocabulary)
        self.hidden = self._hidden(offered)
        self._walk = walk_of(self.model)

    def _hidden(self, offered: Sequence[Int[ndarray, " _"]]) -> Float[Tensor, "B N"] | None:
        """Minus infinity for what a text is not offered; None where all are offered the same."""
        if all(len(each) == len(self.pieces) for each in offered):
            return None
        hidden = torch.full((len(offered), len(self.pieces)), -torch.inf)
        for row, each in zip(hidden, offered, strict=True):
            row[torch.from_numpy(np.searchsorted(self.pieces, each))] = 0.0
        return hidden

    def numbers(self, pieces: Sequence[int]) -> tuple[int, ...]:
        """As pieces are called here; all are offered to some text."""
        return tuple(np.searchsorted(self.pieces, np.asarray(pieces, np.int64)).tolist())

    def names(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """As the model calls them."""
        return tuple(self.pieces[np.asarray(numbers, np.int64)].tolist())

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        state, first = self.model.start(source, real)
        return Start(self._around(state, torch.arange(source.shape[0])), first)

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R N"], State]:
        said_RN, after = self.model.step(pieces, self._inside(state))
        left = state.shared[1]
        if self.hidden is not None:
            # The kernels hide it too, from here on.
            if isinstance(after.own[1], Kept) and after.own[1].ends is not None:
                after.own[1].ends.hidden = self.hidden
            hidden_RN = repeated(self.hidden.index_select(0, left), len(said_RN) // len(left))
            said_RN = (said_RN + hidden_RN).log_softmax(-1)
        return said_RN, self._around(after, left)

    def walk(self, pieces: Int[Tensor, " R"], state: State, walk: Any) -> tuple[native.Steps, State] | None:
        """Several steps at once, where the model can take them and its kernels know what is hidden."""
        ends = getattr(state.own[1], "ends", None)
        if self._walk is None or ends is None or (self.hidden is not None and ends.hidden is None):
            return None
        walked = self._walk(pieces, self._inside(state), walk)
        return None if walked is None else (walked[0], self._around(walked[1], state.shared[1]))

    @staticmethod
    def _around(state: State, left: Int[Tensor, " B"]) -> State:
        return State((state.shared, left), state.own)

    @staticmethod
    def _inside(state: State) -> State:
        return State(state.shared[0], state.own)


def _narrowed(model: Transformer, pieces: Int[ndarray, " N"], vocabulary: Vocabulary) -> Any:
    """The model with the vectors of these pieces in place of all."""
    chosen, readout = torch.from_numpy(pieces), model.output.readout
    vectors = model.embedding.vectors.detach()[chosen]
    tied = readout.weight is model.embedding.vectors
    weight = vectors if tied else readout.weight.detach()[chosen]
    bias = None if readout.bias is None else readout.bias.detach()[chosen]
    embedding = beside(model.embedding, vectors=vectors, vocabulary=len(pieces))
    output = beside(model.output, readout=beside(readout, weight=weight, bias=bias))
    return beside(model, embedding=embedding, output=output, vocabulary=vocabulary)
