"""A model that ends a text with any of several pieces, as one that has a single end."""

from dataclasses import replace
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode import Searcher, searcher_of
from regard.decode.searchers import walk_of
from regard.models import Start, State, Vocabulary
from regard.text import Tokenizing


class Ending:
    """To a search all of `stops` are one piece, with the probability of all; what is no text is never written."""

    def __init__(self, model: Any, tokenizer: Tokenizing, stops: frozenset[int]) -> None:
        self.model = model
        # Of several, one that the tokenizer does not end texts with stands for all.
        self.end = max(stops - {tokenizer.end}, default=tokenizer.end)
        self.stops = sorted(stops)
        given: Vocabulary = model.vocabulary
        self.vocabulary = replace(given, end=self.end)
        # Of a single end the model's own steps are the steps here.
        self.walk = walk_of(model) if len(self.stops) == 1 else None
        unused = {number for number, piece in enumerate(tokenizer.pieces) if not piece}
        self.banned = tuple(sorted((tokenizer.special | unused | stops) - {self.end}))

    @property
    def searcher(self) -> Searcher | None:
        """What searches the model by itself, told of all pieces that end a text."""
        found = searcher_of(self.model)
        return None if found is None else found.ending(self, self.stops)

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        found: Start = self.model.start(source, real)
        return found

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        said_RV, state = self.model.step(pieces, state)
        if len(self.stops) > 1:
            said_RV = said_RV.clone()
            said_RV[:, self.end] = said_RV[:, self.stops].logsumexp(-1)
        return said_RV, state
