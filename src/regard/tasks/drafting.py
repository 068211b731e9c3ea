"""Sources of several lines through a model that writes: read, searched, and put together again, in order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from pydantic import PositiveInt

from regard.decode import Hypothesis, Progressing, Request
from regard.errors import RequestError
from regard.tasks.generating import PREFIX, PREFIX_PIECES, Generating, begun, chances, mean_score, written
from regard.tasks.grouping import GroupSettings, blocks
from regard.tasks.lines import Filling, Read, Reader
from regard.tasks.results import Status, Written, plain, status
from regard.tasks.task import Row
from regard.tasks.vectors import too_long
from regard.text import Streaming
from regard.text.patterns import starts_cjk

Long = Literal["head", "tail", "window", "refuse"]
STATUSES: dict[Long, Status] = {"head": "head", "tail": "tail", "window": "windows", "refuse": "refused"}


class DraftSettings(GroupSettings):
    """What is done with a source of more than `longest` pieces: only its head is read, only its tail, all of it part by
    part (`window`), or nothing. Without a number, longer than any seen in training."""

    long: Long = "head"
    longest: PositiveInt | None = None


@dataclass(frozen=True)
class Drafted:
    """What was written; `status` says how it was read and how it ended, `probabilities` how sure each piece was."""

    text: str
    score: float
    status: tuple[Status, ...]
    pieces: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()
    # The n best, where more than one was asked for.
    alternatives: tuple[Written, ...] | None = None

    def plain(self) -> dict[str, Any]:
        return plain(self)


@dataclass(frozen=True)
class Job:
    """One part of a source, as it is searched."""

    read: Read
    pieces: tuple[int, ...]
    request: Request

    @property
    def before(self) -> int:
        """How many pieces stand before what was read."""
        read = self.read.pieces
        return next(place for place in range(len(self.pieces)) if self.pieces[place : place + len(read)] == read)


@dataclass(frozen=True)
class Work:
    """A source on its way: its text, the parts that are searched, and how it was read where not as a whole."""

    text: str
    jobs: list[Job]
    how: tuple[Status, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A part that was searched."""

    job: Job
    hypotheses: list[Hypothesis]
    text: str


@dataclass(frozen=True)
class Drafting:
    """Rows in, drafts out. `lines` takes a source apart, `frame` puts around its pieces what the model expects, and
    `framed` around those of a target."""

    reader: Reader
    generating: Generating
    settings: DraftSettings
    lines: Callable[[str], Sequence[str]]
    frame: Callable[[Sequence[int]], tuple[int, ...]]
    framed: Callable[[Sequence[int]], tuple[int, ...]]

    def __call__(self, rows: Iterable[Row], field: str) -> Iterator[tuple[Work, list[Draft]]]:
        for block in blocks(rows):
            works = [self.work(row, field) for row in block]
            jobs = [job for work in works for job in work.jobs]
            done = iter(self.generating.in_groups(jobs, self.searched))
            yield from ((work, list(islice(done, len(work.jobs)))) for work in works)

    def settle(self, work: Work) -> Iterator[str | list[Draft]]:
        """What is settled of the text as it grows, never taken back, and at last the drafts."""
        done: list[Draft] = []
        for job in work.jobs:
            found, growing = Progressing(()), Streaming(Filling(self.reader, job.read.words))
            for found in self.generating.stream(job):
                if text := growing.settled(found.settled, over=bool(found.outputs)):
                    yield joined([*(one.text for one in done), text])
            done.append(self.draft(job, list(found.outputs)))
        yield done

    def work(self, row: Row, field: str) -> Work:
        """A row as the model will read it."""
        read = self.reader.read(self.lines(row[field]))
        length, room = len(read.pieces), self.room(len(read.pieces))
        if not length or not read.text.strip():
            return Work(read.text, [], ("empty",))
        parts = chosen(read, self.settings.long, room, self.reader.tokenizer.between)
        if (row.get(PREFIX) or row.get(PREFIX_PIECES)) and len(parts) > 1:
            raise RequestError(f"A text of {len(parts)} parts cannot be given a prefix; send the parts alone.")
        jobs = [self.job(self.reader.numbered(part), row) for part in parts]
        return Work(read.text, jobs, (STATUSES[self.settings.long],) if length > room else ())

    def sources(self, row: Row, field: str) -> list[tuple[int, ...]]:
        """The parts of a row as the model reads them, where nothing is to be written."""
        work = self.work(row, field)
        if work.how == ("refused",):
            raise too_long(work.text, self.settings.longest)
        return [job.pieces for job in work.jobs]

    def room(self, length: int) -> int:
        longest = self.settings.longest
        return length if longest is None else max(longest - len(self.frame(())), 1)

    def job(self, read: Read, row: Row) -> Job:
        prefix = begun(row, lambda text: self.begun(text, read), self.reader.tokenizer.unknown)
        avoid = tuple((slot,) for slot in self.reader.free(read.words))
        return Job(read, self.frame(read.pieces), Request(prefix=prefix, avoid=avoid))

    def begun(self, text: str, read: Read) -> tuple[int, ...]:
        """The pieces of what is written after a source and begins so."""
        *pieces, _ = self.framed(self.reader.write_many([text], [read.words])[0])
        return tuple(pieces)

    def searched(self, jobs: list[Job]) -> list[Draft]:
        return [self.draft(*found) for found in zip(jobs, self.generating.searched(jobs), strict=True)]

    def draft(self, job: Job, hypotheses: list[Hypothesis]) -> Draft:
        return Draft(job, hypotheses, self.reader.text(hypotheses[0].pieces, job.read.words))

    def drafted(self, work: Work, drafts: Sequence[Draft]) -> Drafted:
        """The parts of a source put together."""
        if not drafts:
            return Drafted("", 0.0, work.how)
        best = [one.hypotheses[0] for one in drafts]
        told = [self.written(one, one.hypotheses[0]) for one in drafts]
        return Drafted(
            joined([one.text for one in drafts]),
            mean_score(best),
            statuses(work, drafts),
            tuple(piece for one in told for piece in one.pieces),
            chances(best),
            self.alternatives(drafts),
        )

    def alternatives(self, drafts: Sequence[Draft]) -> tuple[Written, ...] | None:
        if self.generating.search.best == 1 or len(drafts) > 1:
            return None
        return tuple(self.written(drafts[0], one) for one in drafts[0].hypotheses)

    def written(self, draft: Draft, one: Hypothesis) -> Written:
        words = draft.job.read.words
        return written(one, self.reader.text(one.pieces, words), self.reader.names(one.pieces, words))


def chosen(read: Read, long: Long, room: int, between: Sequence[int]) -> list[Read]:
    """What is read of a source: all of it where there is room, else as `long` says."""
    if len(read.pieces) <= room:
        return [read]
    if long == "window":
        return read.parts(room, between)
    length = len(read.pieces)
    ends = {"head": [(0, room)], "tail": [(length - room, length)], "refuse": []}[long]
    return [read.part(start, stop, between) for start, stop in ends]


def joined(texts: Sequence[str]) -> str:
    """Texts in a row, with a space between two unless the second is written without."""
    return "".join(text if not place or starts_cjk(text) else f" {text}" for place, text in enumerate(texts))


def statuses(work: Work, drafts: Sequence[Draft]) -> tuple[Status, ...]:
    """How a source was read, and how what was written ended."""
    ended = [one for draft in drafts for one in status(draft.hypotheses[0], work.text, draft.text)]
    return tuple(one for one in dict.fromkeys([*work.how, *ended]) if not (one == "complete" and "limit" in ended))
