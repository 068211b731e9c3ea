"""What tagging gives: the entities of a text, and how well those of each type are found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from regard.metrics import Found, per_type
from regard.tasks.results import Status, plain
from regard.tasks.tag_schemes import OUTSIDE, taggings, to_iob2
from regard.tasks.tagging_words import Word

TINY = 1e-30


@dataclass(frozen=True)
class Entity:
    """A name: characters [start, end) of the text; `confidence` is the lowest probability among its words' tags."""

    start: int
    end: int
    label: str
    text: str
    confidence: float


@dataclass(frozen=True)
class Tagged:
    """A text with its entities in brackets; `score` is the mean log-probability of its words' tags.

    `tags` has one tag in IOB2 for each of `words`; where only a part of a long text was read, the other words are O.
    """

    text: str
    score: float
    status: tuple[Status, ...]
    entities: tuple[Entity, ...] = ()
    words: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        return plain(self)


def entities(
    text: str, words: Sequence[Word], tags: Sequence[str], probabilities: Sequence[float]
) -> tuple[Entity, ...]:
    """The entities that tags in IOB2 mark."""
    found = []
    for label, first, end in taggings(tags):
        start, stop = words[first].start, words[end - 1].end
        found.append(Entity(start, stop, label, text[start:stop], min(probabilities[first:end])))
    return tuple(found)


def tagged(
    text: str,
    words: Sequence[Word],
    read: Sequence[int],
    tags: Sequence[str],
    probabilities: Sequence[float],
    status: tuple[Status, ...],
) -> Tagged:
    """A text of which these words were read, as it is given out; tags and their probabilities are of those words."""
    told = dict(zip(read, zip(tags, probabilities, strict=True), strict=True))
    every = [told.get(number, (OUTSIDE, 1.0)) for number in range(len(words))]
    line = to_iob2(tag for tag, _ in every)
    found = entities(text, words, line, [probability for _, probability in every])
    score = sum(log(max(probability, TINY)) for probability in probabilities) / max(len(read), 1)
    return Tagged(bracketed(text, found), score, status, found, tuple(word.text for word in words), tuple(line))


def bracketed(text: str, found: Iterable[Entity]) -> str:
    """The text with its entities marked in it.

    >>> bracketed("Ada left.", [Entity(0, 3, "PER", "Ada", 1.0)])
    '[PER Ada] left.'
    """
    parts, done = [], 0
    for entity in found:
        parts += [text[done : entity.start], f"[{entity.label} {entity.text}]"]
        done = entity.end
    return "".join([*parts, text[done:]])


@dataclass(frozen=True)
class Types:
    """How entities of each type were found, as a table."""

    found: Mapping[str, Found]

    def __str__(self) -> str:
        lines = [f"{'type':12} {'precision':>9} {'recall':>7} {'f1':>7} {'right':>6} {'said':>6} {'wanted':>6}"]
        for label, one in self.found.items():
            lines.append(
                f"{label:12} {one.precision:9.2f} {one.recall:7.2f} {one.f1:7.2f} "
                f"{one.right:6,} {one.said:6,} {one.wanted:6,}"
            )
        return "\n".join(lines)

    def plain(self) -> dict[str, Any]:
        return {label: one.plain() for label, one in self.found.items()}


def types(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Types]:
    """What an evaluation tells beside its scores."""
    return {"per type": Types(per_type(outputs, references))}
