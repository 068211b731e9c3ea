"""Held-out rows with labels that training never had, named by file and line."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from regard.data import Row, Tally
from regard.tasks import Task
from regard.tasks.labelling import few


@dataclass
class Unseen:
    """How many of the rows have such a label, and where each of the labels stands."""

    rows: int = 0
    lines: int = 0
    labels: dict[str, Tally] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.lines > 0

    def __str__(self) -> str:
        """All of it in a sentence.

        >>> print(Unseen(4, 1, {"odd": Tally(1, ["test.tsv line 4"])}))
        1 of 4 lines have a label that training never had, and can only be wrong there: 'odd' (test.tsv line 4)
        """
        named = few([f"{label!r} ({found})" for label, found in self.labels.items()])
        first = f"{self.lines:,} of {self.rows:,} lines have a label that training never had"
        return f"{first}, and can only be wrong there: {named}"

    def plain(self) -> dict[str, Any]:
        """These labels as values that JSON can hold."""
        return {label: {"count": found.count, "places": found.places} for label, found in self.labels.items()}


def unseen(task: Task, rows: Iterable[Row]) -> Unseen:
    """What of these rows a task that has learned cannot know."""
    found = Unseen()
    for place, fields in rows:
        labels = task.unseen(fields)
        for label in labels:
            found.labels.setdefault(label, Tally()).add(place)
        found.rows, found.lines = found.rows + 1, found.lines + bool(labels)
    return found
