"""Word alignments read off any explanation, and which attention gives the best of them.

A word that is written can be looked for in two rows of a decoder: the one that wrote it, and the one after, which has
read it and often looks back at where it came from   (Chen et al. 2020, 3.2).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from jaxtyping import Float

from regard.config import Settings
from regard.errors import DataError, RequestError
from regard.explain.asking import by_head, chosen, heads, rows, stack
from regard.explain.attribution import Attribution, Axis
from regard.explain.methods import METHODS, explain, method
from regard.explain.subject import Look, Subject
from regard.explain.weights import plain
from regard.text.alignment import Link, Pair, Way, aer, links, pairs, pharaoh
from regard.text.spans import Word, words_of

Number = int | Literal["mean", "max"]
# Links of the same numbers in different sentences are different links.
APART = 1 << 20
READ: tuple[Way, ...] = ("target", "intersection")
CELL = re.compile(r"([0-9]{1,6})([-?p])([0-9]{1,6})")


class AlignmentSettings(Settings):
    """Where links are read off: a method; of attention which layer and head; which row; and which way they go."""

    method: str = "weights"
    layer: Number | None = None
    head: Number | None = None
    # The row after the one that wrote a word.
    after: bool = False
    way: Way = "target"

    def __str__(self) -> str:
        where = [f"{name} {value}" for name in ("layer", "head") if (value := getattr(self, name)) is not None]
        row = ["the row after"] if self.after else []
        return ", ".join([self.method, *where, *row, *([self.way] if self.way != "target" else [])])


@dataclass(frozen=True)
class WordLinks:
    """Links between the words of an input and of an output."""

    source: tuple[Word, ...]
    target: tuple[Word, ...]
    links: tuple[Link, ...]

    @property
    def pairs(self) -> frozenset[Pair]:
        return frozenset(pairs(self.links, self.source, self.target))

    def __str__(self) -> str:
        """In Pharaoh form."""
        return pharaoh(self.links, self.source, self.target)


@dataclass(frozen=True)
class Gold:
    """The links of one sentence that are sure, and those that may be."""

    sure: frozenset[Pair]
    possible: frozenset[Pair] = frozenset()


@dataclass(frozen=True)
class Judged:
    """A way to align, and its alignment error rate: 0 is perfect, 1 has no link right."""

    settings: AlignmentSettings
    error: float


def aligned(subject: Subject, settings: AlignmentSettings | None = None) -> WordLinks:
    """Which words of the input each word of the output is linked to."""
    settings = settings or AlignmentSettings()
    if not isinstance(settings.layer, int) or not isinstance(settings.head, int) or settings.method != "weights":
        return linked(explain(subject, settings.method, _of_method(subject, settings)), settings)
    look = chosen(_reading(subject), settings.layer)[0]
    [only] = by_head(subject, look, heads(subject, look, settings.head))
    return _linked(subject.inputs, subject.outputs, plain(rows(subject, look, only)), settings)


def linked(attribution: Attribution, settings: AlignmentSettings | None = None) -> WordLinks:
    """An explanation as links; where inputs may speak against an output, their size counts and not their sign."""
    weights = np.abs(attribution.weights) if attribution.signed else attribution.weights
    return _linked(attribution.inputs, attribution.outputs, weights, settings or AlignmentSettings())


def best(subjects: Sequence[Subject], gold: Sequence[Gold], also: Iterable[AlignmentSettings] = ()) -> list[Judged]:
    """Every layer and head, each way, with its error on these, the best first; and whatever else is to be tried."""
    if len(subjects) != len(gold) or not gold:
        raise DataError(f"{len(subjects)} outputs and gold links of {len(gold)}; give as many, and at least one.")
    found: dict[AlignmentSettings, list[frozenset[Pair]]] = {}
    for number, subject in enumerate(subjects):
        for settings, made in (*_every(subject), *((one, aligned(subject, one)) for one in also)):
            check(made, gold[number], f"Line {number + 1} of the gold links")
            found.setdefault(settings, []).append(made.pairs)
    judged = [Judged(settings, error(made, gold)) for settings, made in found.items()]
    return sorted(judged, key=lambda one: one.error)


def error(found: Sequence[frozenset[Pair]], gold: Sequence[Gold]) -> float:
    """The alignment error rate of all sentences together."""
    sure, possible = [one.sure for one in gold], [one.possible for one in gold]
    return aer(_together(found), _together(sure), _together(possible))


def read_gold(line: str, place: str = "The gold links") -> Gold:
    """The links of a line: 0-1 is sure, 0?1 (or 0p1) possible; source first, counted from 0.

    >>> gold = read_gold("0-0 1?1")
    >>> sorted(gold.sure), sorted(gold.possible)
    ([(0, 0)], [(1, 1)])
    """
    cells = [(entry, CELL.fullmatch(entry)) for entry in line.split()]
    for entry, match in cells:
        if match is None:
            raise DataError(f"{place}: {entry!r} is no link; write source-target, like 0-0, or 0?0 if it is not sure.")
    found = [((int(match[1]), int(match[3])), match[2] == "-") for _, match in cells if match]
    sure = frozenset(pair for pair, is_sure in found if is_sure)
    return Gold(sure, frozenset(pair for pair, _ in found) - sure)


def check(made: WordLinks, gold: Gold, place: str) -> None:
    """Refuse gold links of words that are not there: they are of another text, or count from 1."""
    for one, other in sorted(gold.sure | gold.possible):
        if one >= len(made.source) or other >= len(made.target):
            raise DataError(
                f"{place}: {one}-{other}, but there are {len(made.source)} and {len(made.target)} words; words are "
                "what stands between spaces, counted from 0."
            )


def _every(subject: Subject) -> Iterator[tuple[AlignmentSettings, WordLinks]]:
    """The links of each layer and head and of their means, with one pass for each layer."""
    for (layer, head, weights), after, way in product(_maps(subject), (False, True), READ):
        settings = AlignmentSettings(layer=layer, head=head, after=after, way=way)
        yield settings, _linked(subject.inputs, subject.outputs, weights, settings)


def _maps(subject: Subject) -> Iterator[tuple[Number, Number, Float[np.ndarray, "R K"]]]:
    means = []
    for layer, look in enumerate(_reading(subject)):
        maps = [plain(rows(subject, look, one)) for one in by_head(subject, look, heads(subject, look, "mean"))]
        yield from ((layer, head, one) for head, one in enumerate(maps))
        means.append(np.mean(maps, axis=0))
        yield layer, "mean", means[-1]
    yield "mean", "mean", np.mean(means, axis=0)


def _reading(subject: Subject) -> list[Look]:
    """The layers in which outputs look at inputs."""
    looks = stack(subject)
    if looks[0].queries != "outputs":
        raise RequestError("This model has no attention from what it writes to what it reads; align by another method.")
    return looks


def _of_method(subject: Subject, settings: AlignmentSettings) -> Settings:
    """The settings of a method with the layer and head asked for, if it has any to choose."""
    known = method(settings.method, subject).settings
    given = {name: value for name in ("layer", "head") if (value := getattr(settings, name)) is not None}
    for name in given.keys() - known.model_fields.keys():
        others = ", ".join(other for other, one in METHODS.items() if name in one.settings.model_fields)
        raise RequestError(f"Method {settings.method} has no {name} to choose; leave it out, or use one of {others}.")
    return known.read(given, f"method {settings.method}")


def _linked(
    inputs: Axis, outputs: Axis, weights: Float[np.ndarray, "outputs inputs"], settings: AlignmentSettings
) -> WordLinks:
    """Only what is text counts on either side: what goes to the end of a sentence is no link."""
    columns, across = _text(inputs)
    places, down = _text(outputs)
    if settings.after:
        places = [min(place + 1, len(weights) - 1) for place in places]
    source, target = words_of(inputs.text, across), words_of(outputs.text, down)
    if not columns or not places:
        return WordLinks((), (), ())
    found = links(weights[np.ix_(places, columns)], source, target, settings.way)
    return WordLinks(tuple(source), tuple(target), tuple(found))


def _text(axis: Axis) -> tuple[list[int], list[tuple[int, int]]]:
    """The places of pieces that are text, and the characters they cover."""
    found = [(place, unit.span) for place, unit in enumerate(axis.units) if not unit.special and unit.span is not None]
    return [place for place, _ in found], [span for _, span in found]


def _together(sentences: Iterable[frozenset[Pair]]) -> set[Pair]:
    return {(one + number * APART, other) for number, found in enumerate(sentences) for one, other in found}
