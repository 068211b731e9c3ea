"""How texts are gone on with: prompts and conversations in pieces, searched in batches, in windows where they are long.

row -> pieces -> what the model can look at -> search -> text;   what is still missing begins at the end of that
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor

from regard.decode import Hypothesis, Progressing, Request, SearchSettings, search, stream
from regard.tasks.ending import Ending
from regard.tasks.generating import begun, mean_score
from regard.tasks.grouping import blocks, in_groups
from regard.tasks.measuring import carries
from regard.tasks.prompting import ContinueSettings, Prompting
from regard.tasks.reading import rectangle
from regard.tasks.results import Status, Written, looped, plain
from regard.text import Streaming, Tokenizing

# So many pieces of a prompt decide how what follows it is spelled: whether a space stands between.
BEFORE = 32


@dataclass(frozen=True)
class Continuation:
    """What follows a prompt, or replies to it; `probabilities` say how sure the model was of each piece."""

    text: str
    score: float
    status: tuple[Status, ...]
    pieces: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()
    # What `text` begins with, where the prompt is to be given too.
    prompt: str | None = None
    # All outputs, where more than one was asked for; their text is what follows the prompt.
    alternatives: tuple[Written, ...] | None = None

    def plain(self) -> dict[str, Any]:
        return plain(self)


@dataclass(frozen=True)
class Work:
    """An output on its way: its prompt in pieces, how that was cut, and what was found in each window so far."""

    prompt: str
    pieces: tuple[int, ...]
    status: tuple[Status, ...]
    seed: int | None
    # What has to be written first.
    prefix: tuple[int, ...] = ()
    found: tuple[Hypothesis, ...] = ()
    # Which of the outputs of its prompt it is.
    number: int = 0

    @property
    def written(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(one.pieces for one in self.found))

    def grown(self, found: Sequence[Hypothesis]) -> list["Work"]:
        """The outputs it becomes: one for each of what was found, which is several in the first window only."""
        return [replace(self, found=(*self.found, one), number=self.number + at) for at, one in enumerate(found)]


@dataclass(frozen=True)
class Continuing:
    """Rows in, what follows them out, in order."""

    tokenizer: Tokenizing
    # A module that is a Decoder too; the two have no common name in types.
    model: Any
    search: SearchSettings
    settings: ContinueSettings

    def __call__(self, rows: Iterable[Mapping[str, str]]) -> Iterator[Continuation]:
        for window in blocks(rows):
            begun = self.window([self.work(row) for row in window])
            ended = iter(self.ended([work for outputs in begun for work in outputs]))
            yield from (self.whole(list(islice(ended, len(outputs)))) for outputs in begun)

    def window(self, works: list[Work]) -> list[list[Work]]:
        """What becomes of each in its next window; what has none stays as it is."""
        going = [work for work in works if self.left(work)]
        found = iter(self.searched_in_groups(going))
        return [work.grown(next(found)) if self.left(work) else [work] for work in works]

    def ended(self, works: list[Work]) -> list[Work]:
        """Outputs with all windows after their first."""
        while any(map(self.left, works)):
            works = [work for [work] in self.window(works)]
        return works

    def settle(self, row: Mapping[str, str]) -> Iterator[str | Continuation]:
        """What is settled of a continuation as it grows, never taken back, and at last the continuation."""
        work = self.work(row)
        prompt, growing = self.echoed(work), Growing(self.tokenizer, work.pieces)
        self.model.eval()
        others: list[Work] = []
        while self.left(work):
            found, (source, real) = Progressing(()), self.sources([work])
            request, ending = self.request(work), self.ending
            for found in stream(ending, source, real, self.asked([work]), request, None, ending.banned):
                if text := growing.settled([*work.written, *found.settled]):
                    yield prompt + text
            work, *more = work.grown(found.outputs)
            others += more
        yield self.whole([work, *self.ended(others)])

    def work(self, row: Mapping[str, str]) -> Work:
        """A row as the model is given it."""
        prompt, ids = row.get("text", ""), self.prompting.pieces(row)
        room = self.room(self.settings.pieces)
        if not ids:
            return Work(prompt, (), ("empty",), None)
        prefix = begun(row, lambda text: self.tokenizer.encode(text).ids, self.tokenizer.unknown)
        if room is None or len(ids) <= room:
            return Work(prompt, tuple(ids), (), self.prompting.seed(row), prefix)
        if self.settings.long == "refuse":
            return Work(prompt, (), ("refused",), None)
        kept = ids[-room:] if self.settings.long == "tail" else ids[:room]
        return Work(prompt, tuple(kept), (self.settings.long,), self.prompting.seed(row), prefix)

    @cached_property
    def prompting(self) -> Prompting:
        return Prompting(self.tokenizer, self.settings)

    @cached_property
    def ending(self) -> Ending:
        return Ending(self.model, self.tokenizer, self.prompting.stops)

    @property
    def longest(self) -> int | None:
        """The most pieces, old and new, that the model looks at."""
        return None if carries(self.model) else self.settings.longest

    def room(self, pieces: int) -> int | None:
        """How many pieces may stand before so many new ones, which get what they need up to one half."""
        return None if self.longest is None else max(self.longest - min(pieces, self.longest // 2), 1)

    def left(self, work: Work) -> int:
        """How many pieces are still to be written; none after an end, or where nothing could follow any more."""
        if not work.pieces or (work.found and (work.found[-1].complete or not work.found[-1].pieces)):
            return 0
        return self.settings.pieces - len(work.written)

    def seen(self, work: Work) -> tuple[int, ...]:
        """What the model is shown: all so far, or as much of its end as leaves room."""
        everything, room = (*work.pieces, *work.written), self.room(self.left(work))
        return everything if room is None else everything[-room:]

    def request(self, work: Work) -> Request:
        left = self.left(work)
        if self.longest is not None:
            left = max(min(left, self.longest - len(self.seen(work))), 1)
        # Each window of each output draws its own luck; without a seed of its own, a window's pieces decide.
        seed = None if work.seed is None else work.seed + (len(work.found) << 32) + (work.number << 64)
        return Request(prefix=() if work.found else work.prefix, before=work.written, seed=seed, longest=left)

    def sources(self, works: Sequence[Work]) -> tuple[Tensor, Tensor]:
        device = next(self.model.parameters()).device
        return rectangle([self.seen(work) for work in works], self.tokenizer.padding, device)

    def searched_in_groups(self, works: list[Work]) -> list[list[Hypothesis]]:
        """The outputs of each, those of similar length together."""
        width = self.asked(works).width
        return in_groups(works, lambda work: len(self.seen(work)) * width, self.settings, self.searched)

    def asked(self, works: Sequence[Work]) -> SearchSettings:
        """How outputs that are equally far are searched: several begin in the first window, and each goes on as one."""
        begun = any(work.found for work in works)
        return self.search.model_copy(update={"best": 1}) if begun else self.search

    def searched(self, works: list[Work]) -> list[list[Hypothesis]]:
        self.model.eval()
        source, real = self.sources(works)
        requests = [self.request(work) for work in works]
        with torch.inference_mode():
            return search(self.ending, source, real, self.asked(works), requests, None, self.ending.banned)

    def whole(self, outputs: list[Work]) -> Continuation:
        """All outputs of a row, each with its windows put together."""
        work = outputs[0]
        if not work.found:
            return Continuation(self.echoed(work), 0.0, work.status)
        written = [*map(self.written, outputs)]
        return Continuation(
            self.echoed(work) + written[0].text,
            written[0].score,
            (*work.status, *statuses(work)),
            written[0].pieces,
            written[0].probabilities,
            work.prompt if self.settings.echo else None,
            tuple(written) if self.search.best > 1 else None,
        )

    def echoed(self, work: Work) -> str:
        return work.prompt if self.settings.echo else ""

    def written(self, work: Work) -> Written:
        """An output as its reader sees it."""
        log = [value for one in work.found for value in one.piece_log_probabilities]
        probabilities = tuple(torch.tensor(log, dtype=torch.float64).exp().tolist())
        text, pieces = Growing(self.tokenizer, work.pieces).whole(work.written), work.written
        return Written(text, mean_score(work.found), tuple(map(self.tokenizer.piece, pieces)), probabilities, pieces)


def statuses(work: Work) -> tuple[Status, ...]:
    """How a continuation ended, and what is odd about it."""
    found: list[Status] = ["windows"] if len(work.found) > 1 else []
    found.append("complete" if work.found[-1].complete else "limit")
    return (*found, "looped") if looped(work.written) else tuple(found)


class Growing:
    """The text of pieces that follow others: with the space that stands between, if one does."""

    def __init__(self, tokenizer: Tokenizing, before: Sequence[int]) -> None:
        self.tokenizer, self.before = tokenizer, list(before[-BEFORE:])
        self.start = len(tokenizer.decode(self.before))
        self._streaming = Streaming(tokenizer)

    def whole(self, pieces: Sequence[int]) -> str:
        return self.tokenizer.decode([*self.before, *pieces])[self.start :]

    def settled(self, pieces: Sequence[int]) -> str:
        """What no further piece can change of the text; given all pieces so far."""
        return self._streaming.settled([*self.before, *pieces])[self.start :]
