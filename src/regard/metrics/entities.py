"""Entities found by tags in IOB2 (`B-PER I-PER O`), taken from the tags by seqeval."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version

import numpy as np
from jaxtyping import Float

from regard.errors import DataError
from regard.metrics.metric import Given, Metric, References, f1, own_signature, paired

# Type, first place, last place.
Entity = tuple[str, int, int]

_TAG = re.compile(r"O|[BI]-\S+")


def entities(tags: Sequence[str], strict: bool = False) -> frozenset[Entity]:
    """The entities of a line: strictly those that begin with B, else as conlleval would.

    >>> sorted(entities(["I-PER", "I-PER", "O", "B-LOC"]))
    [('LOC', 3, 3), ('PER', 0, 1)]
    >>> sorted(entities(["I-PER", "I-PER", "O", "B-LOC"], strict=True))
    [('LOC', 3, 3)]
    """
    # Importing seqeval takes two seconds.
    if strict:
        from seqeval.scheme import IOB2, Tokens  # type: ignore[import-untyped]

        return frozenset((found.tag, found.start, found.end - 1) for found in Tokens(list(tags), IOB2).entities)
    from seqeval.metrics.sequence_labeling import get_entities  # type: ignore[import-untyped]

    return frozenset(get_entities(list(tags)))


class EntityF1(Metric):
    """F1 of entities: right are those with the type, the beginning and the end of one that was wanted."""

    name = "entity_f1"
    reads = "tags"

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        told = _pairs(outputs, references, self.strict)
        return np.array([(len(said & right), len(said), len(right)) for said, right in told], dtype=np.float64)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return float(f1(*totals))

    def line_value(self, row: Float[np.ndarray, " columns"]) -> float:
        # Nothing to find and nothing found: right, though a corpus of such lines has no F1.
        return self.value(row) if row.any() else 100.0

    def signature(self, references: References) -> str:
        mode = "strict" if self.strict else "conlleval"
        return own_signature(
            references, scheme="IOB2", mode=mode, reference="nearest", version=f"seqeval.{version('seqeval')}"
        )


class EntityPrecision(EntityF1):
    """The share of the entities said that are right."""

    name = "entity_precision"

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return float(100 * totals[0] / totals[1]) if totals[1] else 0.0


class EntityRecall(EntityF1):
    """The share of the entities wanted that were said."""

    name = "entity_recall"

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return float(100 * totals[0] / totals[2]) if totals[2] else 0.0


@dataclass(frozen=True)
class Found:
    """How entities of one type were found, from 0 to 100; and how many were right, said and wanted."""

    precision: float
    recall: float
    f1: float
    right: int
    said: int
    wanted: int

    def plain(self) -> dict[str, float]:
        return asdict(self)


def per_type(outputs: Sequence[str], references: Given, *, strict: bool = False) -> dict[str, Found]:
    """What each type of entity scores, by type."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for said, right in _pairs(outputs, paired(outputs, references), strict):
        for column, found in enumerate((said & right, said, right)):
            for kind, _, _ in found:
                counts[kind][column] += 1
    return {kind: _found(*counts[kind]) for kind in sorted(counts)}


def _found(right: int, said: int, wanted: int) -> Found:
    precision, recall = (100 * right / whole if whole else 0.0 for whole in (said, wanted))
    return Found(precision, recall, f1(right, said, wanted), right, said, wanted)


def _pairs(
    outputs: Sequence[str], references: References, strict: bool
) -> Iterator[tuple[frozenset[Entity], frozenset[Entity]]]:
    """For every line the entities said and those they are judged by: of several references the nearest by F1."""
    for number, (output, allowed) in enumerate(zip(outputs, references, strict=True), 1):
        tags = _tags(output, f"Output {number}")
        wanted = [_tags(reference, f"The reference of output {number}") for reference in allowed]
        for line in wanted:
            _check_lengths(number, len(tags), len(line))
        said = entities(tags, strict)
        yield said, _nearest(said, [entities(line, strict) for line in wanted])


def _nearest(said: frozenset[Entity], allowed: Sequence[frozenset[Entity]]) -> frozenset[Entity]:
    return max(allowed, key=lambda right: (said == right, f1(len(said & right), len(said), len(right))))


def _tags(text: str, place: str) -> list[str]:
    tags = text.split()
    for number, tag in enumerate(tags, 1):
        if not _TAG.fullmatch(tag):
            raise DataError(f"{place}: tag {number} is {tag!r}; expected O, B-TYPE or I-TYPE (IOB2) between spaces.")
    return tags


def _check_lengths(number: int, said: int, wanted: int) -> None:
    if said != wanted:
        raise DataError(
            f"Output {number} has {said} tags, its reference {wanted}: every word needs one tag. "
            "Cut the output, or fill it up with O."
        )
