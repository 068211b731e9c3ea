"""Shares of right labels. A line is one label, or several separated by `|` and compared as a set; empty, it is none.

A list of texts or whole numbers in JSON, as a row of JSON lines may have, is several too.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from regard.metrics.metric import Given, Metric, References, f1, own_signature, paired

Labels = frozenset[str]
# What stands between several labels of a line.
SEPARATOR = "|"


def labels(text: str) -> Labels:
    """The labels of a line.

    >>> sorted(labels("sport | news|sport"))
    ['news', 'sport']
    >>> sorted(labels('["sport","news"]')), sorted(labels("[3,12]")), sorted(labels("[]"))
    (['news', 'sport'], ['12', '3'], [])
    """
    found = listed(text)
    return frozenset(filter(None, map(str.strip, text.split(SEPARATOR) if found is None else found)))


def listed(text: str) -> list[str] | None:
    """The labels of a list in JSON, a number as JSON writes it, or None where that is not what stands there."""
    if not text.lstrip().startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(label, str | int) for label in found):
        return None
    return [label if isinstance(label, str) else json.dumps(label) for label in found]


def nearest(said: Labels, allowed: Sequence[str]) -> Labels:
    """Of the label sets that are right, the one these labels come nearest to by F1; the first of several."""
    return max(map(labels, allowed), key=lambda right: (said == right, f1(len(said & right), len(said), len(right))))


def pairs(outputs: Sequence[str], references: References) -> list[tuple[Labels, Labels]]:
    """For every line the labels said and those they are judged by."""
    said = map(labels, outputs)
    return [(given, nearest(given, allowed)) for given, allowed in zip(said, references, strict=True)]


class Accuracy(Metric):
    """The share of lines whose labels are all right and all there."""

    name = "accuracy"

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        rows = [(said == right, 1) for said, right in pairs(outputs, references)]
        return np.array(rows, dtype=np.float64)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return float(100 * totals[0] / totals[1])

    def signature(self, references: References) -> str:
        return own_signature(references, unit="line", labels="set", reference="any")


class MicroF1(Metric):
    """F1 of all labels of all lines; with one label a line it is the accuracy."""

    name = "micro_f1"

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        rows = [(len(said & right), len(said), len(right)) for said, right in pairs(outputs, references)]
        return np.array(rows, dtype=np.float64)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        # Where there was no label to give and none was given, nothing is wrong.
        return float(f1(*totals)) if totals.any() else 100.0

    def signature(self, references: References) -> str:
        return own_signature(references, unit="label", average="micro", reference="nearest")


class MacroF1(Metric):
    """The mean of every label's F1, over the labels that are said or wanted anywhere in what is scored."""

    name = "macro_f1"

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        told = pairs(outputs, references)
        known = sorted(frozenset().union(*(said | right for said, right in told)))
        place = {label: number for number, label in enumerate(known)}
        counts = np.zeros((len(told), len(known), 3))
        for line, (said, right) in enumerate(told):
            for column, found in enumerate((said & right, said, right)):
                counts[line, [place[label] for label in found], column] = 1
        return counts.reshape(len(told), -1)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        # A resampled test set may lack a label altogether.
        values = [f1(*counts) for counts in totals.reshape(-1, 3) if counts.any()]
        return float(np.mean(values)) if values else 100.0

    def signature(self, references: References) -> str:
        return own_signature(references, unit="label", average="macro", reference="nearest")


@dataclass(frozen=True)
class Confusion:
    """How often each label (row) was called each label (column)."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def plain(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "counts": [list(row) for row in self.counts]}

    def __str__(self) -> str:
        names = [label or "(none)" for label in self.labels]
        rows = [["right \\ said", *names]]
        rows += [[name, *map(str, row)] for name, row in zip(names, self.counts, strict=True)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        first = [f"{row[0]:{widths[0]}}" for row in rows]
        rest = ["".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)) for row in rows]
        return "\n".join(name + cells for name, cells in zip(first, rest, strict=True))


def confusion(outputs: Sequence[str], references: Given) -> Confusion:
    """The table of what was said for what; several labels of a line count as one label, joined by `|`."""
    told = pairs(outputs, paired(outputs, references))
    counts = Counter((SEPARATOR.join(sorted(right)), SEPARATOR.join(sorted(said))) for said, right in told)
    known = sorted({label for pair in counts for label in pair})
    return Confusion(tuple(known), tuple(tuple(counts[right, said] for said in known) for right in known))
