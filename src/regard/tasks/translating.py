"""How texts are translated: taken apart where they are too long, searched in batches by length, put together again.

row -> marks out -> parts that fit -> pieces -> search -> text -> parts joined -> marks back -> Translation
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple, Self

from pydantic import PositiveInt, field_validator, model_validator

from regard.decode import Hypothesis, Latency, Progressing, Request, SearchSettings
from regard.errors import ConfigError, RequestError
from regard.tasks.generating import Generating, begun, chances, mean_score, written
from regard.tasks.grouping import GroupSettings, blocks, in_groups
from regard.tasks.interpreting import SimultaneousSettings, interpret
from regard.tasks.links import Alignment, alignments
from regard.tasks.results import Status, Written, plain, status
from regard.tasks.sides import Sides
from regard.tasks.vectors import too_long
from regard.text import Cut, Streaming, Tokenizing, parts, placeholders
from regard.text.alignment import Link
from regard.text.glossary import Entry, Glossary, Item, receipt
from regard.text.placeholders import Extracted
from regard.text.restoring import Rendered

NOTHING = Alignment()


class PredictSettings(GroupSettings):
    """What is done around the search; the padded pieces of a batch count each beam."""

    # What to do with a source longer than `longest` pieces; without a number, longer than any seen in training. With
    # `sentences` every source is split, into its sentences, and further where one is longer.
    long: Literal["split", "sentences", "refuse"] = "split"
    longest: PositiveInt | None = None
    # The language to translate into, for models that know several.
    language: str = ""
    # Which word of the source each word of the output comes from, by attention.
    alignment: bool = False
    # Tags, placeholders and addresses are taken out, and put back where they belong.
    marks: bool = False
    # Regular expressions of what else is taken out with them.
    patterns: tuple[str, ...] = ()
    # A file of terms and what they must become, or must not: that keeps out longer words, too, whose pieces begin so.
    glossary: str = ""
    # Write while reading, instead of searching.
    simultaneous: SimultaneousSettings | None = None

    @field_validator("patterns")
    @classmethod
    def _usable(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        try:
            placeholders.with_own(patterns)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return patterns

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.glossary and self.simultaneous is not None:
            raise ValueError("glossary needs a search, and simultaneous writes without one; leave out one of them")
        return self


@dataclass(frozen=True)
class Translation:
    """A translation; `status` says how it ended, `probabilities` how sure each piece was, and the end."""

    text: str
    score: float
    status: tuple[Status, ...]
    pieces: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()
    # The n best, where more than one was asked for.
    alternatives: tuple[Written, ...] | None = None
    # Which span of the output comes from which of the source; the same in Pharaoh form, word by word.
    links: tuple[Link, ...] | None = None
    alignment: str | None = None
    # What became of every glossary entry whose term is in the source.
    glossary: tuple[Item, ...] | None = None
    latency: Latency | None = None

    def plain(self) -> dict[str, Any]:
        kept = None if self.glossary is None else [{**asdict(item), "met": item.met} for item in self.glossary]
        return plain(self) | ({} if kept is None else {"glossary": kept})


class Job(NamedTuple):
    """One part of one row, as it is searched."""

    text: str
    start: int
    pieces: list[int]
    request: Request
    # Whether it is asked which of its words became which of the output.
    linked: bool = False


class Work(NamedTuple):
    """A row on its way: what was taken out of it, and the parts it was cut into."""

    source: str
    taken: Extracted
    jobs: list[Job]
    entries: tuple[Entry, ...]


class Done(NamedTuple):
    """A part that was searched."""

    job: Job
    hypotheses: list[Hypothesis]
    text: str
    alignment: Alignment = NOTHING
    latency: Latency | None = None


class Cutting:
    """Texts in pieces: those that were cut ahead, many at a time, or the last, which is asked for more than once."""

    def __init__(self, tokenizer: Tokenizing) -> None:
        self.tokenizer = tokenizer
        self.known: dict[str, Cut] = {}
        self.last: dict[str, Cut] = {}

    def ahead(self, texts: Sequence[str]) -> None:
        self.known = dict(zip(texts, self.tokenizer.encode_many(texts), strict=True))

    def __call__(self, text: str) -> Cut:
        if text not in self.known and text not in self.last:
            self.last = {text: self.tokenizer.encode(text)}
        return self.known[text] if text in self.known else self.last[text]


@dataclass(frozen=True)
class Translating:
    """Rows in, translations out, in order."""

    sides: Sides
    # A module that is a Decoder too; the two have no common name in types.
    model: Any
    search: SearchSettings
    settings: PredictSettings
    opening: tuple[str, ...] = ()

    def __call__(self, rows: Iterable[Mapping[str, str]]) -> Iterator[Translation]:
        for window in blocks(rows):
            if not self.settings.marks:
                self.cut.ahead([row["source"] for row in window])
            works = [self.work(row) for row in window]
            done = iter(self.done([job for work in works for job in work.jobs]))
            yield from (self.whole(work, list(islice(done, len(work.jobs)))) for work in works)

    def settle(self, row: Mapping[str, str]) -> Iterator[str | Translation]:
        """What is settled of a translation as it grows, never taken back, and at last the translation."""
        if self.settings.simultaneous is not None:
            yield from self([row])
            return
        work, finished = self.work(row), list[Done]()
        for job in work.jobs:
            found, growing = Progressing(()), Streaming(self.sides.target)
            for found in self.generating.stream(job):
                text = growing.settled(found.settled, over=bool(found.outputs))
                if text and not work.taken.marks:
                    yield joined(work.taken.text, [*finished, Done(job, [], text)])[0]
            finished += self.aligned(self.read_off([job], [list(found.outputs)]))
        yield self.whole(work, finished)

    def work(self, row: Mapping[str, str]) -> Work:
        """A row taken apart."""
        source = row["source"]
        taken = placeholders.extract(source, self.patterns) if self.settings.marks else Extracted(source, ())
        entries = self.glossary.matches(taken.text) if self.glossary else ()
        spans = self.spans(taken.text)
        prefix = begun(row, self.sides.begun, self.sides.target.unknown)
        if prefix and self.settings.simultaneous is not None:
            raise RequestError("What predict.simultaneous writes cannot be given a prefix; leave out one of the two.")
        if prefix and len(spans) > 1:
            raise RequestError(f"A source of {len(spans)} parts cannot be given a prefix; send the sentences alone.")
        linked = self.settings.alignment or (bool(taken.marks) and self.seen)
        jobs = [self.job(taken.text[start:end], start, prefix, entries, linked) for start, end in spans]
        return Work(source, taken, jobs, tuple(entries))

    @cached_property
    def patterns(self) -> Mapping[str, str]:
        """What is taken out of a text."""
        return placeholders.with_own(self.settings.patterns)

    @property
    def seen(self) -> bool:
        """Whether the model's attention can be looked at; where it cannot, marks keep their share of the text."""
        return bool(getattr(self.model, "looks", ()))

    def sources(self, row: Mapping[str, str]) -> list[list[int]]:
        """The parts of a row as the model reads them, where nothing is to be written."""
        work = self.work(row)
        if not work.jobs and work.taken.text.strip():
            raise too_long(work.source, self.settings.longest)
        return [job.pieces for job in work.jobs]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The parts of a text that are translated by themselves; none where there is nothing, or it is refused."""
        if not text.strip():
            return []
        alone = self.settings.long == "sentences"
        if not alone and self.fits(text):
            return [(0, len(text))]
        if self.settings.long == "refuse":
            return []
        return [span for span in parts(text, self.fits, join=not alone) if text[slice(*span)].strip()]

    def fits(self, text: str) -> bool:
        """Whether a text is read whole; `longest` counts what frames it too."""
        longest = self.settings.longest
        return longest is None or len(self.cut(text)) <= max(longest - self.framing, 1)

    @cached_property
    def framing(self) -> int:
        """How many pieces of what is read are none of the text."""
        return len(self.opening) + len(self.sides.source.opening) + len(self.sides.source.closing)

    @cached_property
    def cut(self) -> "Cutting":
        """A text in pieces."""
        return Cutting(self.sides.source)

    def job(self, text: str, start: int, prefix: tuple[int, ...], entries: Sequence[Entry], linked: bool) -> Job:
        pieces = self.sides.read(self.cut(text), self.opening)
        present = [entry for entry in entries if entry.occurs(text)]
        wanted = (self.possible(entry.forms(text)) for entry in present if not entry.forbidden)
        must = tuple(choice for choice in wanted if choice)
        avoid = tuple(self.target(word) for entry in present if entry.forbidden for word in entry.forms(text))
        inside = self.inside if must else frozenset[int]()
        return Job(text, start, pieces, Request(prefix=prefix, must=must, inside=inside, avoid=avoid), linked)

    def possible(self, targets: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """The targets of an entry that can be written; one that cannot would only keep the output from ending."""
        banned = set(self.sides.banned)
        return tuple(pieces for pieces in map(self.target, targets) if not banned & set(pieces))

    def target(self, text: str) -> tuple[int, ...]:
        return tuple(self.sides.target.encode(text).ids)

    @cached_property
    def glossary(self) -> Glossary | None:
        if not self.settings.glossary:
            return None
        return Glossary.read(Path(self.settings.glossary), self.sides.source.cased, self.sides.target.cased)

    @cached_property
    def inside(self) -> frozenset[int]:
        """The pieces that go on with a word instead of beginning another, seen after a term that ends in a letter."""
        tokenizer, entries = self.sides.target, self.glossary.entries if self.glossary else ()
        terms = ((pieces, tokenizer.decode(pieces)) for entry in entries for pieces in self.possible(entry.targets))
        before, word = next(((pieces, text) for pieces, text in terms if lettered(text[-1:])), ((), ""))
        pieces = range(tokenizer.size if word else 0)
        after = {number: tokenizer.decode([*before, number])[len(word) :][:1] for number in pieces}
        return frozenset(number for number, letter in after.items() if lettered(letter))

    def done(self, jobs: list[Job]) -> list[Done]:
        """Every job searched, those of similar length together, given back in their order."""
        if self.settings.simultaneous is not None:
            return self.aligned(self.interpreted(jobs, self.settings.simultaneous))
        return self.aligned(self.generating.in_groups(jobs, self.searched))

    def searched(self, jobs: list[Job]) -> list[Done]:
        return self.read_off(jobs, self.generating.searched(jobs))

    @cached_property
    def generating(self) -> Generating:
        return Generating(self.model, self.search, self.settings, self.sides.banned)

    def read_off(self, jobs: list[Job], found: list[list[Hypothesis]]) -> list[Done]:
        """What was found, as text."""
        texts = [self.sides.target.decode(hypotheses[0].pieces) for hypotheses in found]
        return [Done(*result) for result in zip(jobs, found, texts, strict=True)]

    def aligned(self, done: list[Done]) -> list[Done]:
        """The same with alignments where they are wanted, one group after another: who looks at a model sees what any
        thread computes with it."""
        wanted = [each for each in done if each.job.linked]
        if not wanted:
            return done
        found = iter(in_groups(wanted, lambda each: self.generating.size(each.job), self.settings, self.linked))
        return [next(found) if each.job.linked else each for each in done]

    def linked(self, done: list[Done]) -> list[Done]:
        outputs = [(each.job.text, each.text, each.hypotheses[0]) for each in done]
        found = alignments(self.model, self.sides, self.opening, outputs)
        return [each._replace(alignment=links) for each, links in zip(done, found, strict=True)]

    def interpreted(self, jobs: list[Job], settings: SimultaneousSettings) -> list[Done]:
        self.model.eval()
        each = [interpret(self.model, self.sides, self.opening, job.text, settings, self.search) for job in jobs]
        done = self.read_off(jobs, [[found] for found, _ in each])
        return [one._replace(latency=late) for one, (_, late) in zip(done, each, strict=True)]

    def whole(self, work: Work, done: list[Done]) -> Translation:
        """The parts of a row put together."""
        if not done and work.taken.text.strip():
            return Translation("", 0.0, ("refused",))
        if not done:
            return Translation(work.source if work.taken.marks else "", 0.0, ("empty",))
        text, alignment = joined(work.taken.text, done)
        kept = receipt(text, work.entries).items if self.glossary else None
        if work.taken.marks:
            put = placeholders.placed(text, work.taken.marks, alignment.links)
            text, alignment = put.text, alignment.among(Rendered(work.source, work.taken.places), put)
        best = [each.hypotheses[0] for each in done]
        found = [one for each in done for one in status(each.hypotheses[0], each.job.text, each.text)]
        if len(done) > 1:
            found.insert(0, "split")
        statuses = tuple(one for one in dict.fromkeys(found) if not (one == "complete" and "limit" in found))
        names = self.sides.target.pieces
        pieces = tuple(names[number] for one in best for number in one.pieces)
        return Translation(
            text,
            mean_score(best),
            statuses,
            pieces,
            chances(best),
            self.alternatives(work, done),
            alignment.links if self.settings.alignment else None,
            str(alignment) if self.settings.alignment else None,
            kept,
            mean_latency([each.latency for each in done if each.latency]),
        )

    def alternatives(self, work: Work, done: list[Done]) -> tuple[Written, ...] | None:
        if self.search.best == 1 or len(done) > 1:
            return None
        told = tuple(self.written(one, self.sides.target) for one in done[0].hypotheses)
        return self.marked(work, done[0], told) if work.taken.marks else told

    def marked(self, work: Work, done: Done, told: Sequence[Written]) -> tuple[Written, ...]:
        """The n best with marks, each where its own words are."""
        pairs = zip(done.hypotheses[1:], told[1:], strict=True)
        found = [done, *self.aligned([done._replace(hypotheses=[one], text=other.text) for one, other in pairs])]
        links = [one.alignment.moved(one.job.start, 0).links for one in found]
        texts = [placeholders.restore(one.text, work.taken.marks, each) for one, each in zip(told, links, strict=True)]
        return tuple(replace(one, text=text) for one, text in zip(told, texts, strict=True))

    def written(self, one: Hypothesis, tokenizer: Tokenizing) -> Written:
        return written(one, tokenizer.decode(one.pieces), [*map(tokenizer.piece, one.pieces)])


def mean_latency(each: Sequence[Latency]) -> Latency | None:
    """How late several outputs in a row were, each by itself, if any was made while reading."""
    if not each:
        return None
    return Latency(fmean(one.average_lagging for one in each), fmean(one.average_proportion for one in each))


def joined(source: str, done: list[Done]) -> tuple[str, Alignment]:
    """The outputs of all parts with what stood between their sources, and their links moved along."""
    text, alignment, reached = "", Alignment(), 0
    for each in done:
        text += between(source[reached : each.job.start], text, each.text)
        alignment += each.alignment.moved(each.job.start, len(text))
        text += each.text
        reached = each.job.start + len(each.job.text)
    return text, alignment


def between(gap: str, left: str, right: str) -> str:
    """What goes between two outputs: line ends as they were, else a space unless the script has none."""
    if not left:
        return ""
    if "\n" in gap:
        return gap
    return "" if unspaced(left[-1:]) or unspaced(right[:1]) else " "


def lettered(character: str) -> bool:
    """Whether a character is a letter or digit of a script with spaces."""
    return character.isalnum() and not unspaced(character)


def unspaced(character: str) -> bool:
    """Whether a character belongs to a script written without spaces."""
    return "\u3000" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef"
