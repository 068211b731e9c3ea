"""How answers are found: every window scored, the spans of all of them compared, the best one given, or none.

The score of a span is start + end - (start + end of "no answer") in its window, so that windows compare and "no
answer" scores 0 in each. A choice that hangs on less than MARGIN is made from the row alone, window by window and
without padding, so that no neighbour can change it.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Annotated, Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor

from regard.tasks import reading, vectors
from regard.tasks.grouping import blocks, in_groups
from regard.tasks.passages import Layout, Window, around, shares
from regard.tasks.reading import LongSettings
from regard.tasks.results import plain
from regard.text import Cut, Tokenizing
from regard.text.encoded import Span

MARGIN = 1e-3
# So many spans share the probability with "no answer".
COMPARED = 20
# What no span that may be chosen scores.
FORBIDDEN = -1e30


class AnswerSettings(LongSettings):
    """`longest` counts the question and what frames it; a question of more than half of that is read up to there."""

    longest: Annotated[int, Field(ge=8)] = 384
    overlap: NonNegativeInt = 128
    # The most pieces of an answer.
    longest_answer: PositiveInt = 30
    # The score a span must reach, lest there be no answer: 0 where it has to be as likely as that, or "never" to answer
    # always. Without a number, training chooses what gives the best F1 on validation.
    no_answer: float | Literal["never"] | None = None
    # How many answers to give.
    best: PositiveInt = 1


@dataclass(frozen=True)
class Found:
    """An answer that was considered; without a text it is "no answer", which scores 0."""

    text: str
    start: int | None
    end: int | None
    score: float
    confidence: float


@dataclass(frozen=True)
class Answer:
    """A stretch of the passage, `passage[start:end]`, or nothing; `score` compares the best span with "no answer"."""

    text: str
    start: int | None
    end: int | None
    score: float
    # Its share of the probability among the best spans and "no answer".
    confidence: float
    status: tuple[str, ...]
    # The best of all that were considered, where more than one was asked for.
    alternatives: tuple[Found, ...] | None = None

    def plain(self) -> dict[str, Any]:
        return plain(self)


class Scored(NamedTuple):
    """A span of the passage, in characters or in pieces of a window (both ends inside), and its score."""

    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Work:
    """A row on its way: its passage in pieces, the windows it is read in, and how it is read."""

    passage: Cut
    windows: list[Window]
    status: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """Rows in, answers out, in order."""

    tokenizer: Tokenizing
    model: Any
    layout: Callable[[Sequence[Window]], Layout]
    settings: AnswerSettings

    def __call__(self, rows: Iterable[Mapping[str, str]]) -> Iterator[Answer]:
        for block in blocks(rows):
            works = self.works(block)
            jobs = [window for work in works for window in work.windows]
            scored = iter(in_groups(jobs, lambda window: window.size, self.settings, self.scored))
            yield from (self.answer(work, list(islice(scored, len(work.windows)))) for work in works)

    def vectors(self, rows: Iterable[Mapping[str, str]], recipe: Any) -> Iterator[Float[Tensor, " D"]]:
        """The mean of the states of all windows of each row."""
        windows = (self.read(work) for block in blocks(rows) for work in self.works(block))
        return vectors.means(
            self.model, windows, recipe, lambda window: window.size, lambda some: self.layout(some).states(self.model)
        )

    def read(self, work: Work) -> list[Window]:
        """The windows of a row; a RequestError where it is refused."""
        if work.status == ("refused",):
            raise vectors.too_long(work.passage.text, self.settings.longest)
        return work.windows

    def works(self, rows: Sequence[Mapping[str, str]]) -> list[Work]:
        questions = self.tokenizer.encode_many([row["question"] for row in rows])
        passages = self.tokenizer.encode_many([row["passage"] for row in rows])
        return [self.work(question, passage) for question, passage in zip(questions, passages, strict=True)]

    def work(self, question: Cut, passage: Cut) -> Work:
        """A row cut into windows; none where there is nothing to read, or too much."""
        kept, room = shares(len(question), self.settings.longest, around(self.tokenizer))
        if not kept or not len(passage) or not question.text.strip() or not passage.text.strip():
            return Work(passage, [], ("empty",))
        cut = kept < len(question)
        if cut and self.settings.long == "refuse":
            return Work(passage, [], ("refused",))
        spans = reading.chosen(len(passage), room, self.settings)
        status = reading.status(len(passage), room, self.settings)
        told = tuple(one for one in dict.fromkeys((*status, "head")) if one != "complete") if cut else status
        return Work(passage, [Window(question.ids[:kept], passage.ids[a:b], a) for a, b in spans], told)

    def scored(self, windows: list[Window]) -> list[list[Scored]]:
        """The best spans of each window, in pieces of it."""
        self.model.eval()
        with torch.inference_mode():
            logits_BC2 = self.layout(windows).logits(self.model).double().cpu()
            return best_spans(logits_BC2, self.settings.longest_answer, max(COMPARED, self.settings.best))

    def answer(self, work: Work, scored: list[list[Scored]]) -> Answer:
        """What all windows of a row say together."""
        if not work.windows:
            return Answer("", None, None, 0.0, 0.0, work.status)
        found = self.merged(work, scored)
        if self.close(found):
            found = self.merged(work, self.alone(work, scored, found))
        return self.whole(found, work)

    def alone(self, work: Work, scored: list[list[Scored]], found: Sequence[Scored]) -> list[list[Scored]]:
        """The spans of every window, of those that can matter to what is given computed by themselves."""
        least = found[: self.settings.best + 1][-1].score - MARGIN
        windows = zip(work.windows, scored, strict=True)
        return [self.scored([window])[0] if spans and spans[0].score >= least else spans for window, spans in windows]

    def merged(self, work: Work, scored: list[list[Scored]]) -> list[Scored]:
        """The spans of all windows in characters of the passage, the best first, each once."""
        best: dict[Span, float] = {}
        for window, spans in zip(work.windows, scored, strict=True):
            for first, last, score in spans:
                span = trimmed(work.passage, window.first + first, window.first + last)
                if span[0] < span[1]:
                    best[span] = max(score, best.get(span, -math.inf))
        ranked = sorted((Scored(*span, score) for span, score in best.items()), key=lambda one: (-one.score, one))
        return ranked[: max(COMPARED, self.settings.best)]

    def close(self, found: Sequence[Scored]) -> bool:
        """Whether rounding could change what is given."""
        if not found:
            return False
        given = [one.score for one in found[: self.settings.best + 1]]
        hung = [] if self.threshold is None else [self.threshold, *([0.0] if self.settings.best > 1 else [])]
        return any(first - second < MARGIN for first, second in pairwise(sorted([*given, *hung], reverse=True)))

    @property
    def threshold(self) -> float | None:
        """What a span must score; None where there is always an answer."""
        chosen = self.settings.no_answer
        return None if chosen == "never" else float(chosen or 0.0)

    def whole(self, found: Sequence[Scored], work: Work) -> Answer:
        silent = self.threshold is not None
        scores = torch.tensor([*(one.score for one in found), *([0.0] if silent else [])], dtype=torch.float64)
        shares = scores.softmax(0).tolist()
        considered = [
            Found(work.passage.text[start:end], start, end, score, share)
            for (start, end, score), share in zip(found, shares, strict=False)
        ]
        nothing = Found("", None, None, 0.0, shares[-1] if silent else 0.0)
        answered = found and (self.threshold is None or found[0].score >= self.threshold)
        given = considered[0] if answered else nothing
        status = work.status if answered else (*(one for one in work.status if one != "complete"), "no answer")
        return Answer(
            *(given.text, given.start, given.end, found[0].score if found else 0.0, given.confidence, status),
            self.alternatives(given, considered, nothing),
        )

    def alternatives(self, given: Found, considered: list[Found], nothing: Found) -> tuple[Found, ...] | None:
        """What is given and then the rest of the best, the likelier first."""
        if self.settings.best == 1:
            return None
        rest = [*considered, *([] if self.threshold is None else [nothing])]
        ranked = sorted((one for one in rest if one is not given), key=lambda one: -one.score)
        return (given, *ranked)[: self.settings.best]


def best_spans(logits: Float[Tensor, "B C 2"], longest: int, count: int) -> list[list[Scored]]:
    """The `count` best spans of at most `longest` pieces in each row, in pieces of the passage, from column 1 on."""
    start_BP, end_BP = logits[:, 1:, 0], logits[:, 1:, 1]
    longest = min(longest, start_BP.shape[1])
    beyond_BL = end_BP.new_full((len(end_BP), longest - 1), -torch.inf)
    # [b, i, n]: from piece i to piece i + n.
    sums_BPL = start_BP[..., None] + torch.cat([end_BP, beyond_BL], dim=1).unfold(1, longest, 1)
    score_BN, place_BN = sums_BPL.flatten(1).topk(min(count, sums_BPL[0].numel()))
    relative_BN = score_BN - logits[:, 0].sum(-1, keepdim=True)
    return [
        [
            Scored(place // longest, place // longest + place % longest, score)
            for place, score in zip(places, scores, strict=True)
            if score > FORBIDDEN
        ]
        for places, scores in zip(place_BN.tolist(), relative_BN.tolist(), strict=True)
    ]


def trimmed(passage: Cut, first: int, last: int) -> Span:
    """The characters from one piece to another, without the space around them."""
    start, end = passage.spans[first][0], passage.spans[last][1]
    text = passage.text[start:end]
    return start + len(text) - len(text.lstrip()), end - (len(text) - len(text.rstrip()))
