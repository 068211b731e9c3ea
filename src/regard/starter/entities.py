"""Sentences with their entities: PER, ORG, LOC, MISC. Surnames, towns and firms of a held-out part are in no other."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TypedDict

from regard.starter.grammars.entities import RULES
from regard.starter.grammars.names import named, names
from regard.starter.growing import Growth, Part, Rules, different, drawer, sentences, ways
from regard.starter.marks import Marked, unmarked
from regard.starter.writing import json_lines, parts, write

__all__ = ["TYPES", "Span", "Tagged", "possible", "rows", "write_entities"]

TYPES = ("PER", "ORG", "LOC", "MISC")
WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")


class Span(TypedDict):
    """An entity: `text[start:end]`."""

    start: int
    end: int
    type: str


class Tagged(TypedDict):
    """A sentence with its entities, and the same as words with IOB2 tags."""

    text: str
    entities: list[Span]
    words: list[str]
    tags: list[str]


def rows(count: int, seed: int, part: Part) -> Iterator[Tagged]:
    """`count` different sentences, each with a name that is in no other part."""
    draw, rules = drawer(seed, part), {**names(part), **RULES}
    return different(lambda: _tagged(draw, rules, part), lambda row: row["text"], count)


def possible() -> int:
    """How many different sentences training could show."""
    return ways({**names("train"), **RULES}, "{sentence}")


def write_entities(folder: Path, size: int = 6000, held_out: int = 600, seed: int = 0) -> dict[str, Path]:
    """Writes every part as columns (`train.conll`) and as spans (`train.jsonl`); the paths by name."""
    made = parts(lambda count, part: rows(count, seed, part), size, held_out)
    columns = {f"{part}.conll": map(_columns, made[part]) for part in made}
    spans = {f"{part}.jsonl": json_lines(map(_spans, made[part])) for part in made}
    return write(folder, {**columns, **spans})


def _tagged(draw: Random, rules: Rules, part: Part) -> Tagged:
    while True:
        text, marks = unmarked(sentences(Growth(draw, rules)("{sentence}")))
        found = list(WORD.finditer(text))
        words = [word[0] for word in found]
        if not named(part).isdisjoint(words):
            entities = [Span(start=mark.start, end=mark.end, type=mark.kind) for mark in marks]
            return {"text": text, "entities": entities, "words": words, "tags": [_tag(word, marks) for word in found]}


def _tag(word: re.Match[str], marks: Sequence[Marked]) -> str:
    """B- at the start of an entity, I- inside, O elsewhere."""
    for mark in marks:
        if mark.start <= word.start() < mark.end:
            return f"{'B' if mark.start == word.start() else 'I'}-{mark.kind}"
    return "O"


def _columns(row: Tagged) -> str:
    return "".join(f"{word} {tag}\n" for word, tag in zip(row["words"], row["tags"], strict=True)) + "\n"


def _spans(row: Tagged) -> dict[str, object]:
    return {"text": row["text"], "entities": row["entities"]}
