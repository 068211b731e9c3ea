"""Pieces put where a text has marks as subjects of an explanation."""

import re
from collections.abc import Sequence
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import RequestError
from regard.explain import Axis, Unit
from regard.tasks.explained import EMBEDDED, one_part
from regard.tasks.filling import MARKS, Filling, Stretch, Work
from regard.tasks.masking import MARK
from regard.tasks.subjects import Prediction, at, labelled, named, picked, tensor
from regard.text import Tokenizing


def filled(task: Any, model: Any, row: Any, recipe: Any, target: str | None) -> Prediction:
    """What stands at each mark of a text, or the pieces that are given for them; of pieces that were hidden, those."""
    filling = task.filling(model, recipe)
    work = filling.work(row["text"])
    stretch = _stretch(work)
    tokenizer, places_O = task.reading.tokenizer, tensor(stretch.asked, model)
    wanted = _wanted(filling, work, stretch) if target is None else _given(tokenizer, target, len(stretch.asked))
    wanted_O = tensor(wanted, model)

    def score(given: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Float[Tensor, "N O"]:
        if real is not None:
            raise RequestError('Pieces around a mark cannot be left out, only hidden; set how = "blank".')
        logits_NOV = model.head(model.encoder(given)[:, places_O])
        return picked(logits_NOV.log_softmax(-1), wanted_O)

    names = [tokenizer.decode([piece]).strip() or tokenizer.piece(piece) for piece in wanted]
    inputs, hidden = _marked(filling, row["text"], stretch), filling.masking.mask
    read, pieces = at(places_O, len(inputs)), tensor(stretch.pieces, model)
    return Prediction(model, inputs, labelled(*names), pieces, hidden, EMBEDDED, score, read)


def _stretch(work: Work) -> Stretch:
    if "no mask" in work.status:
        raise RequestError("The text has no mark, so nothing is put in; write <mask> where a piece is to be found.")
    found: Stretch = one_part(work.stretches, "text")
    return found


def _wanted(filling: Filling, work: Work, stretch: Stretch) -> Sequence[int]:
    """What was hidden, or the likeliest piece at each mark."""
    return work.wanted or [filling.reading.tokenizer.id(fills[0].piece) for fills in filling.told([stretch])[0]]


def _given(tokenizer: Tokenizing, target: str, marks: int) -> Sequence[int]:
    ids = tokenizer.encode(target).ids
    if len(ids) != marks:
        raise RequestError(f"The target has {len(ids)} pieces for {marks} marks; give one piece for each.")
    return ids


def _marked(filling: Filling, text: str, stretch: Stretch) -> Axis:
    """The pieces of a text between what frames it; marks are no text."""
    tokenizer, opening = filling.reading.tokenizer, len(filling.reading.tokenizer.opening)
    asked = {place - opening for place in stretch.asked}
    ids = stretch.pieces[opening : len(stretch.pieces) - len(tokenizer.closing)]
    read, cells = _cells(tokenizer, text, ids, asked)
    units = [
        Unit(read[slice(*span)] if span and span[0] < span[1] else tokenizer.piece(piece), span, place in asked)
        for place, (piece, span) in enumerate(zip(ids, cells, strict=True))
    ]
    framed = [
        [Unit(name, None, True) for name in named(tokenizer, marks)] for marks in (tokenizer.opening, tokenizer.closing)
    ]
    return Axis(read, (*framed[0], *units, *framed[1]))


def _cells(
    tokenizer: Tokenizing, text: str, ids: Sequence[int], asked: set[int]
) -> tuple[str, Sequence[tuple[int, int] | None]]:
    """The text as it was read, marks written in some way or other, and the characters of each piece of it."""
    spaceless = re.sub(rf" +(?={MARKS.pattern})", "", text)
    for read in (text, MARKS.sub(MARK, text), spaceless, MARKS.sub(MARK, spaceless)):
        for cut_ids, spans in (_whole(tokenizer, read), _in_parts(tokenizer, read)):
            if len(cut_ids) == len(ids) and all(
                a == b or place in asked for place, (a, b) in enumerate(zip(cut_ids, ids, strict=True))
            ):
                return read, spans
    return text, [None] * len(ids)


def _whole(tokenizer: Tokenizing, text: str) -> tuple[list[int], list[tuple[int, int]]]:
    cut = tokenizer.encode(text)
    return cut.ids, cut.spans


def _in_parts(tokenizer: Tokenizing, text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """What stands between marks cut by itself, each mark as one piece."""
    ids: list[int] = []
    spans: list[tuple[int, int]] = []
    end = 0
    for start, after in [*(mark.span() for mark in MARKS.finditer(text)), (len(text), len(text))]:
        cut = tokenizer.encode(text[end:start])
        ids += [*cut.ids, *([tokenizer.unknown] if after > start else [])]
        spans += [(end + a, end + b) for a, b in cut.spans] + ([(start, after)] if after > start else [])
        end = after
    return ids, spans
