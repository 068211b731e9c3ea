"""A question and its passage as models read them: in windows where the passage is long, as one text or as two."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, NonNegativeInt
from torch import Tensor, nn

from regard.config import Settings
from regard.data import Encoding, Share
from regard.models import DocumentReader, SpanReader, Spans
from regard.models.understanding import known_segments
from regard.nn import Loss
from regard.tasks.answers import likeliest, right
from regard.tasks.reading import Reading, rectangle, windows
from regard.tasks.vectors import States
from regard.text import Cut, Tokenizing
from regard.text.encoded import Span


class WindowsSettings(Settings):
    """What training sees of a passage: windows that overlap, each with its question and what frames them at most
    `longest` pieces. A question of more than half of that is read up to there."""

    longest: Annotated[int, Field(ge=8)] = 384
    overlap: NonNegativeInt = 128
    # Which share of the windows that do not hold the answer teach that there is none; of questions without an answer
    # all do.
    empty: Annotated[float, Field(ge=0, le=1)] = 1.0


class Window(NamedTuple):
    """The pieces of a question, some of a passage, and the number of the first of those."""

    question: Sequence[int]
    passage: Sequence[int]
    first: int = 0

    @property
    def size(self) -> int:
        return len(self.question) + len(self.passage)


def shares(asked: int, longest: int, around: int) -> tuple[int, int]:
    """How many pieces are read of a question of so many, and how many of its passage at once.

    >>> shares(10, 384, 3), shares(900, 384, 3)
    ((10, 371), (190, 191))
    """
    free = max(longest - around, 2)
    kept = min(asked, free // 2)
    return kept, free - kept


def around(tokenizer: Tokenizing) -> int:
    """How many pieces frame a question and its passage."""
    return len(tokenizer.opening) + len(tokenizer.between) + len(tokenizer.closing)


def covering(spans: Sequence[Span], start: int, end: int) -> tuple[int, int] | None:
    """The first and the last piece with a character of [start, end); none where they all were passed over.

    >>> covering([(0, 2), (2, 5), (6, 9)], 3, 7)
    (1, 2)
    """
    inside = [number for number, (begins, ends) in enumerate(spans) if begins < end and ends > start and ends > begins]
    return (inside[0], inside[-1]) if inside else None


def encoding(reading: Reading, settings: WindowsSettings) -> Encoding:
    """How rows become examples, one a window; where the answer starts and ends is counted from one, 0 is none."""
    most = max(reading.tokenizer.size, settings.longest + 1)
    identity = f"windows {settings.model_dump_json()} {reading.identity}"
    return Encoding(_Encode(reading.tokenizer, settings), ("question", "passage", "answer"), most, identity)


@dataclass(frozen=True)
class _Encode:
    tokenizer: Tokenizing
    settings: WindowsSettings

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[Sequence[int]]]:
        cut = [self.tokenizer.encode_many(texts[name]) for name in ("question", "passage")]
        answers = [
            likeliest(right({"passage": passage, "answers": given}))
            for passage, given in zip(texts["passage"], texts["answers"], strict=True)
        ]
        found: list[tuple[Window, tuple[int, int]]] = []
        for question, passage, answer in zip(*cut, answers, strict=True):
            span = (answer.start, answer.end) if answer else None
            found += self.examples(question, passage, span)
        return {
            "question": [window.question for window, _ in found],
            "passage": [window.passage for window, _ in found],
            "answer": [places for _, places in found],
        }

    def examples(self, question: Cut, passage: Cut, span: Span | None) -> Iterator[tuple[Window, tuple[int, int]]]:
        kept, room = shares(len(question), self.settings.longest, around(self.tokenizer))
        places = None if span is None else covering(passage.spans, *span)
        # Of what has no pieces nothing can be learned.
        if not kept or not len(passage) or (span is not None and places is None):
            return
        for first, end in self.cuts(len(passage), room, places):
            inside = places is not None and first <= places[0] and places[1] < end
            if places is None or inside or self.teaches(question.text, passage.text, first):
                start, last = (places[0] - first + 1, places[1] - first + 1) if places and inside else (0, 0)
                yield Window(question.ids[:kept], passage.ids[first:end], first), (start, last)

    def cuts(self, length: int, room: int, places: tuple[int, int] | None) -> Iterator[tuple[int, int]]:
        """The windows of a passage; one more where none of them holds the answer whole. One that no window can hold
        would be taught as none, so nothing is learned from it (`AnsweringTask.remarks` tells of those)."""
        usual = list(windows(length, room, self.settings.overlap))
        if places is None or any(first <= places[0] and places[1] < end for first, end in usual):
            yield from usual
        elif (size := places[1] - places[0] + 1) <= room:
            first = max(min(places[0] - (room - size) // 2, length - room), 0)
            yield from (*usual, (first, first + room))

    def teaches(self, question: str, passage: str, first: int) -> bool:
        """Whether a window without the answer is learned from, by a hash of what it is."""
        return Share(0.0, self.settings.empty).holds({"question": question, "passage": passage, "first": str(first)})


@runtime_checkable
class Layout(Protocol):
    """Windows as tensors; what a model makes of them has "no answer" in column 0 and the passage after it."""

    def logits(self, model: Any) -> Float[Tensor, "B C 2"]: ...

    def states(self, model: Any) -> States:
        """What the model's encoder makes of question and passage."""
        ...


@dataclass(frozen=True)
class Together:
    """Question and passage in one text, and the place in it of every piece of the passage."""

    pieces: Int[Tensor, "B T"]
    real: Bool[Tensor, "B T"]
    segments: Int[Tensor, "B T"]
    places: Int[Tensor, "B P"]
    inside: Bool[Tensor, "B P"]

    @classmethod
    def of(cls, given: Sequence[Window], tokenizer: Tokenizing, device: torch.device) -> "Together":
        before = [[*tokenizer.opening, *window.question, *tokenizer.between] for window in given]
        after = [[*window.passage, *tokenizer.closing] for window in given]
        joined = [[*asked, *told] for asked, told in zip(before, after, strict=True)]
        pieces_BT, real_BT = rectangle(joined, tokenizer.padding, device)
        starts_B1 = torch.tensor([[len(asked)] for asked in before], device=device)
        second_BT = torch.arange(pieces_BT.shape[1], device=device) >= starts_B1
        _, inside_BP = rectangle([window.passage for window in given], 0, device)
        places_BP = (starts_B1 + torch.arange(inside_BP.shape[1], device=device)) * inside_BP
        return cls(pieces_BT, real_BT, (second_BT & real_BT).long(), places_BP, inside_BP)

    def states(self, model: Any) -> States:
        segments = known_segments(model.encoder, self.segments)
        return States(model.encoder(self.pieces, self.real, segments), self.real)

    def logits(self, model: Any) -> Float[Tensor, "B C 2"]:
        logits_BT2 = model(self.pieces, self.real, self.segments)
        places_BC = torch.cat([torch.zeros_like(self.places[:, :1]), self.places], dim=1)
        inside_BC = torch.cat([torch.ones_like(self.inside[:, :1]), self.inside], dim=1)
        logits_BC2 = logits_BT2.gather(1, places_BC[..., None].expand(-1, -1, 2))
        return logits_BC2.masked_fill(~inside_BC[..., None], torch.finfo(logits_BC2.dtype).min)


@dataclass(frozen=True)
class Apart:
    """Question and passage in a text each."""

    question: Int[Tensor, "B Q"]
    question_real: Bool[Tensor, "B Q"]
    passage: Int[Tensor, "B P"]
    passage_real: Bool[Tensor, "B P"]

    @classmethod
    def of(cls, given: Sequence[Window], tokenizer: Tokenizing, device: torch.device) -> "Apart":
        question = rectangle([window.question for window in given], tokenizer.padding, device)
        return cls(*question, *rectangle([window.passage for window in given], tokenizer.padding, device))

    def states(self, model: Any) -> States:
        texts = ((self.question, self.question_real), (self.passage, self.passage_real))
        states_BTD = torch.cat([model.encoder(*text) for text in texts], dim=1)
        return States(states_BTD, torch.cat([self.question_real, self.passage_real], dim=1))

    def logits(self, model: Any) -> Float[Tensor, "B C 2"]:
        return model(self.question, self.question_real, self.passage, self.passage_real)


class Reader(NamedTuple):
    """A kind of model that finds answers, and how it is given windows."""

    kind: type[Any]
    layout: Callable[[Sequence[Window], Tokenizing, torch.device], Layout]


# To add one: a module made of an encoder and its settings, and a layout of what it reads.
READERS: dict[str, Reader] = {"spans": Reader(SpanReader, Together.of), "reader": Reader(DocumentReader, Apart.of)}


@dataclass(frozen=True)
class Batch:
    """Windows, and the columns in which the answer of each starts and ends."""

    layout: Layout
    start: Int[Tensor, " B"]
    end: Int[Tensor, " B"]

    @classmethod
    def of(cls, examples: Sequence[Mapping[str, Any]], layout: Callable[[list[Window]], Layout]) -> "Batch":
        """Examples of a store."""
        read = [Window(one["question"].tolist(), one["passage"].tolist()) for one in examples]
        start, end = ([int(one["answer"][side]) for one in examples] for side in (0, 1))
        made = layout(read)
        return cls(made, torch.tensor(start), torch.tensor(end))

    def loss(self, model: nn.Module) -> Loss:
        logits_BC2 = self.layout.logits(model)
        return Spans.loss(logits_BC2, self.start.to(logits_BC2.device), self.end.to(logits_BC2.device))
