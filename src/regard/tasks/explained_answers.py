"""Answers found in a passage as subjects of an explanation: question and passage read as one text, or as two."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import RequestError
from regard.explain import Axis, Look, Unit
from regard.tasks.explained import EMBEDDED, one_part
from regard.tasks.passages import Apart, Together, Window
from regard.tasks.subjects import Prediction, at, axis, blank, labelled, looks, named
from regard.text import Tokenizing

# The columns in which an answer starts and ends; both are 0 where there is none.
Columns = tuple[int, int]


def found(task: Any, model: Any, row: Any, recipe: Any, target: str | None) -> Prediction:
    """An answer in a passage, or the one that is given."""
    finding, tokenizer = task.finding(model, recipe), task.reading.tokenizer
    work = finding.works([row])[0]
    window = one_part(work.windows, "passage")
    place = _place(finding, row, target)
    columns = (0, 0) if place is None else _columns(work.passage.spans, window, *place)
    asked = axis(row["question"], tokenizer.encode(row["question"])).units[: len(window.question)]
    told = axis(row["passage"], work.passage, moved=len(row["question"]) + 1).units[window.first :]
    text, outputs = f"{row['question']}\t{row['passage']}", labelled("no answer" if place is None else _at(row, place))
    sample = task.layout(next(model.parameters()).device)([window])
    if isinstance(sample, Apart):
        return _apart(model, sample, columns, Axis(text, (*asked, *told[: len(window.passage)])), outputs, tokenizer)
    units = _framed(asked, told[: len(window.passage)], tokenizer)
    return _together(model, sample, columns, Axis(text, units), outputs, tokenizer)


def _together(
    model: Any, sample: Together, columns: Columns, inputs: Axis, outputs: Axis, tokenizer: Tokenizing
) -> Prediction:
    """Question and passage as one text."""

    def score(given: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Float[Tensor, "N O"]:
        version = replace(
            sample,
            pieces=given,
            real=sample.real.expand(len(given), -1) if real is None else real,
            segments=sample.segments.expand(len(given), -1),
            places=sample.places.expand(len(given), -1),
            inside=sample.inside.expand(len(given), -1),
        )
        return _log(version.logits(model), columns)

    places_C = torch.cat([sample.places.new_zeros(1), sample.places[0]])
    read_1S = at(places_C[list(columns)], len(inputs)).mean(0, keepdim=True)
    return Prediction(model, inputs, outputs, sample.pieces[0], blank(tokenizer), EMBEDDED, score, read_1S)


def _apart(
    model: Any, sample: Apart, columns: Columns, inputs: Axis, outputs: Axis, tokenizer: Tokenizing
) -> Prediction:
    """Question and passage each for itself, the question first."""
    asked = sample.question.shape[1]

    def score(given: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Float[Tensor, "N O"]:
        if real is not None:
            raise RequestError('Pieces of two texts cannot be left out, only hidden; set how = "blank".')
        question, passage = given[:, :asked], given[:, asked:]
        version = Apart(
            question,
            sample.question_real.expand(len(given), -1),
            passage,
            sample.passage_real.expand(len(given), -1),
        )
        return _log(version.logits(model), columns)

    pieces = torch.cat([sample.question[0], sample.passage[0]])
    attention = tuple(_placed(look, asked) for look in looks(model))
    return Prediction(model, inputs, outputs, pieces, blank(tokenizer), EMBEDDED, score, None, attention)


def _placed(look: Look, asked: int) -> Look:
    """What each attention of a reader reads: the encoder both texts in turn, the passage the question, a pool that."""
    if look.tap.startswith("encoder."):
        return replace(look, at=((0, 0), (asked, asked)))
    if look.tap.startswith("question."):
        return Look(look.tap, 0, "pool", "one", "inputs", ((0, 0),))
    return Look(look.tap, look.layer, "cross", "inputs", "inputs", ((asked, 0),))


def _log(logits: Float[Tensor, "N C 2"], columns: Columns) -> Float[Tensor, "N 1"]:
    """log p that the answer starts and ends there."""
    log_NC2 = logits.log_softmax(1)
    return (log_NC2[:, columns[0], 0] + log_NC2[:, columns[1], 1])[:, None]


def _framed(question: Sequence[Unit], passage: Sequence[Unit], tokenizer: Tokenizing) -> tuple[Unit, ...]:
    opening, between, closing = (
        [Unit(name, None, True) for name in named(tokenizer, ids)]
        for ids in (tokenizer.opening, tokenizer.between, tokenizer.closing)
    )
    return (*opening, *question, *between, *passage, *closing)


def _at(row: Any, place: tuple[int, int]) -> str:
    text: str = row["passage"][slice(*place)]
    return text


def _place(finding: Any, row: Any, target: str | None) -> tuple[int, int] | None:
    """Where the answer stands in the passage; nowhere if there is none."""
    if target is None:
        answer = next(iter(finding([row])))
        return None if answer.start is None else (answer.start, answer.end)
    if not target:
        return None
    if (start := row["passage"].find(target)) < 0:
        raise RequestError(f"{target[:60]!r} does not stand in the passage, so it cannot be its answer.")
    return start, start + len(target)


def _columns(spans: Sequence[tuple[int, int]], window: Window, start: int, end: int) -> Columns:
    """The columns of the first and last piece of a stretch, counted from one."""
    inside = [number for number, (begins, ends) in enumerate(spans, 1) if begins < end and ends > start]
    first, last = inside[0] - window.first, inside[-1] - window.first
    if first < 1 or last > len(window.passage):
        raise RequestError("The answer stands in a part of the passage that is not read; give a shorter passage.")
    return first, last
