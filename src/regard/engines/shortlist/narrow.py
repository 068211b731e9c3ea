"""A Transformer that writes with some of its pieces only, each text with its own."""

from collections.abc import Sequence
from functools import cached_property
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

    def __init__(self, model: Transformer, offered: Bool[ndarray, "B V"]) -> None:
        self.whole, self.offered = model, offered
        self.pieces = np.flatnonzero(offered.any(0))
        given = model.vocabulary
        begin, end = np.searchsorted(self.pieces, (given.begin, given.end)).tolist()
        self.vocabulary = Vocabulary(given.source, len(self.pieces), begin, end)
        self.model = _narrowed(model, self.pieces, self.vocabulary)
        self.hidden = _hidden(offered[:, self.pieces], model.embedding.vectors.device)
        self._walk = walk_of(self.model)

    def alone(self, row: int) -> "Narrow | Alone":
        """What this is to one of its texts alone."""
        return self if self.hidden is None else Alone(self, row)

    def numbers(self, pieces: Sequence[int]) -> tuple[int, ...]:
        """As pieces are called here; all are offered to some text."""
        if not pieces:
            return ()
        return tuple(np.searchsorted(self.pieces, np.asarray(pieces, np.int64)).tolist())

    def names(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """As the model calls them."""
        return tuple(self.pieces[np.asarray(numbers, np.int64)].tolist())

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        state, first = self.model.start(source, real)
        return Start(self._around(state, torch.arange(len(source), device=source.device)), first)

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


class Alone:
    """A narrow model to one of its texts: what it would say without the others, in the numbers it has beside them.

    What is decided by such numbers is decided as it would be alone, to the last digit (see `decode.ties`).
    """

    def __init__(self, among: Narrow, row: int) -> None:
        self.among, self.row = among, row
        self.vocabulary = among.vocabulary

    @cached_property
    def own(self) -> Narrow:
        """Seldom asked for."""
        return Narrow(self.among.whole, self.among.offered[self.row : self.row + 1])

    @cached_property
    def places(self) -> Int[Tensor, " N"]:
        """Of each of the text's own pieces its number among all."""
        found = np.searchsorted(self.among.pieces, self.own.pieces)
        return torch.from_numpy(found).to(self.among.whole.embedding.vectors.device)

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        state, first = self.own.start(source, real)
        return Start(state, self.places[first])

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R N"], State]:
        own_RN, state = self.own.step(torch.searchsorted(self.places, pieces), state)
        said_RN = own_RN.new_full((len(own_RN), self.vocabulary.target), -torch.inf)
        return said_RN.index_copy(1, self.places, own_RN), state


def _hidden(offered: Bool[ndarray, "B N"], device: torch.device) -> Float[Tensor, "B N"] | None:
    """Minus infinity for what a text is not offered; None where all are offered everything."""
    if offered.all():
        return None
    hidden = torch.zeros(offered.shape).masked_fill_(torch.from_numpy(~offered), -torch.inf)
    return hidden.to(device)


def _narrowed(model: Transformer, pieces: Int[ndarray, " N"], vocabulary: Vocabulary) -> Any:
    """The model with the vectors of these pieces in place of all."""
    embedding, readout = model.embedding, model.output.readout
    chosen = torch.from_numpy(pieces).to(embedding.vectors.device)
    vectors, fixed, bias = (
        None if each is None else each.detach()[chosen] for each in (embedding.vectors, embedding.fixed, readout.bias)
    )
    tied = readout.weight is embedding.vectors
    weight = vectors if tied else readout.weight.detach()[chosen]
    narrow = beside(embedding, vectors=vectors, fixed=fixed, vocabulary=len(pieces))
    output = beside(model.output, readout=beside(readout, weight=weight, bias=bias))
    return beside(model, embedding=narrow, output=output, vocabulary=vocabulary)
