"""What could stand in the place of an output: its name for a reader, and which of it is never put out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from regard.tasks.task import Row

# So many pieces before one decide how it is spelled: whether a space stands between.
BEFORE = 4
# What is made of pieces: their text together, and the name of one.
Decode = Callable[[Sequence[int]], str]
Name = Callable[[int], str]


@dataclass(frozen=True)
class Choices:
    """`name` tells a choice after the pieces before it; a space it begins with is kept, so that words can be told."""

    name: Callable[[Sequence[int], int], str]
    never: frozenset[int] = frozenset()
    # What ends a text, where texts are written.
    end: int | None = None


def choices(task: Any, model: Any, row: Row, recipe: Any) -> Choices:
    """What the outputs of a task are chosen from."""
    if hasattr(task, "translating"):
        return _written(task.sides.target.decode, task.sides.target, task.sides.banned)
    if hasattr(task, "drafting"):
        words = task.drafting(model, recipe).work(row, task.fields[0]).jobs[0].read.words
        reader, named = task.reader, lambda piece: task.reader.names([piece], words)[0]
        never = (*task.sides.banned, *reader.free(words))
        return _written(lambda pieces: reader.text(pieces, words), task.sides.target, never, named)
    if hasattr(task, "continuing"):
        ending = task.continuing(model, recipe).ending
        return _written(task.reading.tokenizer.decode, task.reading.tokenizer, ending.banned, end=ending.end)
    return _listed(task)


def _written(
    decode: Decode, tokenizer: Any, never: Sequence[int], named: Name | None = None, end: int | None = None
) -> Choices:
    """The pieces of a text."""
    last = tokenizer.end if end is None else end
    name = partial(_after, decode, named or tokenizer.piece, last)
    return Choices(name, frozenset((*never, tokenizer.begin)) - {last}, last)


def _after(decode: Decode, named: Name, end: int, before: Sequence[int], piece: int) -> str:
    """What a piece adds to the text of those before it; the name of one that adds nothing, or half a character."""
    few = list(before[-BEFORE:])
    old, new = decode(few), decode([*few, piece])
    added = new[len(old) :] if new.startswith(old) else new
    return added if piece != end and added.strip() and "\ufffd" not in added else named(piece)


def _listed(task: Any) -> Choices:
    """Labels, tags, or pieces that each stand alone."""
    if hasattr(task, "tags"):
        return Choices(lambda before, choice: task.tags[choice])
    if hasattr(task, "labels"):
        return Choices(lambda before, choice: task.labels.names[choice])
    tokenizer = task.sides.target if hasattr(task, "sides") else task.reading.tokenizer
    return Choices(lambda before, choice: tokenizer.piece(choice), tokenizer.special)
