"""What every task that writes text shares: pieces in, hypotheses out, in batches of similar length or one as it grows.

read -> room -> search -> written
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import exp
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch

from regard.decode import Hypothesis, Progressing, Request, SearchSettings, search, stream
from regard.tasks.grouping import GroupSettings, in_groups
from regard.tasks.looking import Looking
from regard.tasks.results import Written
from regard.tasks.sides import sources


@runtime_checkable
class Asking(Protocol):
    """One input as it is searched: what the model reads, and what is asked for it."""

    @property
    def pieces(self) -> Sequence[int]: ...

    @property
    def request(self) -> Request: ...


Asked = TypeVar("Asked", bound=Asking)
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Generating:
    """A model that writes, how it is searched, and which pieces it may never write."""

    # A module that is a Decoder too; the two have no common name in types.
    model: Any
    search: SearchSettings
    groups: GroupSettings
    banned: tuple[int, ...] = ()

    def in_groups(self, asked: Sequence[Asked], run: Callable[[list[Asked]], Sequence[Outcome]]) -> list[Outcome]:
        """What `run` makes of all, those of similar length together, in their order; every beam counts its pieces."""
        tokens = max(self.groups.tokens // self.search.beams, 1)
        beams = GroupSettings(rows=self.groups.rows, tokens=tokens)
        return in_groups(asked, lambda one: len(one.pieces), beams, run)

    def searched(self, asked: Sequence[Asking]) -> list[list[Hypothesis]]:
        """The best outputs of each, searched together."""
        self.model.eval()
        source, real = sources([one.pieces for one in asked], self.device)
        requests = [one.request for one in asked]
        with torch.inference_mode(), self.looking() as looking:
            return search(self.model, source, real, self.search, requests, looking, self.banned)

    def stream(self, asked: Asking) -> Iterator[Progressing]:
        """What is settled of one output as it grows, and at last all that was found."""
        self.model.eval()
        source, real = sources([asked.pieces], self.device)
        with self.looking() as looking:
            yield from stream(self.model, source, real, self.search, asked.request, looking, self.banned)

    def looking(self) -> AbstractContextManager[Looking | None]:
        """What tells the search where the model looks, if it has to know."""
        return Looking(self.model) if self.search.coverage else nullcontext()

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.model.parameters()).device
        return device


def written(one: Hypothesis, text: str, pieces: Sequence[str]) -> Written:
    """A hypothesis as its reader sees it."""
    return Written(text, one.score, tuple(pieces), tuple(map(exp, one.piece_log_probabilities)), one.pieces)


def mean_score(best: Sequence[Hypothesis]) -> float:
    """The score of several outputs in a row, each weighed by its pieces."""
    return sum(one.score * len(one.pieces) for one in best) / max(sum(len(one.pieces) for one in best), 1)
