"""What every task that writes text shares: pieces in, hypotheses out, in batches of similar length or one as it grows.

read -> room -> search -> written
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from math import exp
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch

from regard import decode
from regard.attention import watched
from regard.decode import Hypothesis, Progressing, Request, SearchSettings, search, searched, searcher_of, stream
from regard.errors import RequestError
from regard.models.protocols import room
from regard.nn import native
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


# What an output begins with: a text, or the numbers of its very pieces as a JSON list, which no tokenizer cuts anew.
PREFIX, PREFIX_PIECES = "prefix", "prefix_pieces"
# The pieces of an output that is explained, in the same form, where it need not be searched again.
OUTPUT_PIECES = "output_pieces"
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
        """What `run` makes of all, those of similar length together, in their order."""
        return in_groups(asked, self.size, self.groups, run, self.callers)

    def size(self, asked: Asking) -> int:
        """What it counts in a batch: every beam its pieces."""
        return len(asked.pieces) * self.search.width

    @property
    def callers(self) -> int:
        """How many groups are searched at once: as many as there are threads, where nobody looks on."""
        if (searcher := searcher_of(self.model)) is not None:
            return searcher.callers
        plain = not watched() and not self.search.coverage
        return native.threads() if plain and self.device.type == "cpu" and native.ready() else 1

    def searched(self, asked: Sequence[Asking]) -> list[list[Hypothesis]]:
        """The best outputs of each, searched together."""
        if self.model.training:
            self.model.eval()
        pieces, requests = [one.pieces for one in asked], [*map(self.limited, asked)]
        if (searcher := searcher_of(self.model)) is not None:
            return searched(searcher, decode.Asked(pieces, self.search, requests, self.banned))
        source, real = sources(pieces, self.device)
        with torch.inference_mode(), self.looking() as looking:
            return search(self.model, source, real, self.search, requests, looking, self.banned)

    def stream(self, asked: Asking) -> Iterator[Progressing]:
        """What is settled of one output as it grows, and at last all that was found."""
        self.model.eval()
        source, real = sources([asked.pieces], self.device)
        with self.looking() as looking:
            yield from stream(self.model, source, real, self.search, self.limited(asked), looking, self.banned)

    def limited(self, asked: Asking) -> Request:
        """What is asked, of no longer an output than the model has positions for."""
        request, read = asked.request, len(asked.pieces)
        longest = request.longest or max(self.search.limit(read), len(request.prefix) + 1)
        most = room(self.model, read)
        return request if most is None or longest <= most else replace(request, longest=most)

    def looking(self) -> AbstractContextManager[Looking | None]:
        """What tells the search where the model looks, if it has to know."""
        return Looking(self.model) if self.search.coverage else nullcontext()

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.model.parameters()).device
        return device


def begun(row: Mapping[str, str], cut: Callable[[str], Sequence[int]], unknown: int) -> tuple[int, ...]:
    """The pieces that the output of a row has to begin with; `cut` makes pieces of a text."""
    if row.get(PREFIX_PIECES):
        return numbers(row, PREFIX_PIECES)
    found = tuple(cut(row[PREFIX])) if row.get(PREFIX) else ()
    if unknown in found:
        raise RequestError(
            f"{PREFIX} = {row[PREFIX][:40]!r} holds what no piece of this model can write, so no output can begin with "
            "it; leave that out."
        )
    return found


def numbers(row: Mapping[str, str], field: str) -> tuple[int, ...]:
    """The pieces a field holds as a JSON list of their numbers."""
    try:
        found = json.loads(row[field])
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(type(one) is int and 0 <= one < 1 << 31 for one in found):
        raise RequestError(f"{field} = {row[field][:40]!r} is no JSON list of the numbers of pieces, such as [5, 12].")
    return tuple(found)


def written(one: Hypothesis, text: str, pieces: Sequence[str]) -> Written:
    """A hypothesis as its reader sees it."""
    return Written(text, one.score, tuple(pieces), tuple(map(exp, one.piece_log_probabilities)), one.pieces)


def chances(best: Sequence[Hypothesis]) -> tuple[float, ...]:
    """The probability of every piece of several outputs in a row, and of the end of the last where it ended."""
    pieces = [value for one in best[:-1] for value in one.piece_log_probabilities[: len(one.pieces)]]
    return tuple(map(exp, [*pieces, *best[-1].piece_log_probabilities]))


def mean_score(best: Sequence[Hypothesis]) -> float:
    """The score of several outputs in a row, each weighed by its pieces and its end."""
    counts = [one.length for one in best]
    return sum(one.score * count for one, count in zip(best, counts, strict=True)) / max(sum(counts), 1)
