"""Whether attention explains a model, asked on rows of its task."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import ConfigError, DataError, RequestError
from regard.explain import Subject
from regard.explain.audit import Audit, AuditSettings, Case, Watch, audit

if TYPE_CHECKING:
    from regard.api.pipeline import Pipeline

Row = Mapping[str, str]
# Of a text that is only read on, so many words are explained from what comes before them.
FOLLOWING = 20


def audited(
    pipeline: "Pipeline",
    rows: Sequence[Row],
    settings: AuditSettings | None = None,
    also: Mapping[str, "Pipeline"] | None = None,
    watch: Watch | None = None,
) -> Audit:
    """The audit of a model on rows drawn from these; `also` are other models of the task, such as of other seeds."""
    if not rows:
        raise DataError("There is no line to audit with; give a file of texts that has some.")
    settings, also = settings or AuditSettings(), also or {}
    for name, other in also.items():
        if other.recipe.task != pipeline.recipe.task:
            raise ConfigError(f"{name} does {other.recipe.task}, not {pipeline.recipe.task}; give models of one task.")
    order = np.random.default_rng(settings.seed).permutation(len(rows))
    drawn = Drawn(pipeline, [pipeline.asked(rows[place]) for place in order], also)
    return audit(drawn, settings, len(rows), drawn.again, watch)


class Drawn:
    """Rows as cases of an audit, one when it is asked for; those that were explained are remembered."""

    def __init__(self, pipeline: "Pipeline", rows: Sequence[Row], also: Mapping[str, "Pipeline"]) -> None:
        self.pipeline, self.rows, self.also = pipeline, rows, also
        self.used: list[Row] = []

    def __iter__(self) -> Iterator[Case | RequestError]:
        for row in self.rows:
            try:
                yield self._case(row)
            except RequestError as error:
                yield error

    def again(self) -> list[str]:
        """What the model puts out now for the rows that were used."""
        return [result.text or "" for result in self.pipeline.predict(self.used)]

    def _case(self, row: Row) -> Case:
        row, target = parted(row) if self.pipeline.task.fields == ("text",) else (row, None)
        subject = _subject(self.pipeline, row, target)
        others = {name: _subject(other, row, _written(subject)) for name, other in self.also.items()}
        self.used.append(row)
        return Case(subject, others)


def parted(row: Row) -> tuple[Row, str | None]:
    """A text that nothing is asked of, as its first half and the words that follow it; one word stays alone.

    >>> parted({"text": "the dog runs home"})
    ({'text': 'the dog'}, ' runs home')
    """
    ends = [found.end() for found in re.finditer(r"\S+", row["text"])]
    if len(ends) < 2:
        return row, None
    cut = ends[len(ends) // 2 - 1]
    last = ends[min(len(ends), len(ends) // 2 + FOLLOWING) - 1]
    return {**row, "text": row["text"][:cut]}, row["text"][cut:last]


def _subject(pipeline: "Pipeline", row: Row, target: str | None = None) -> Subject:
    if not any(text.strip() for text in row.values()):
        raise RequestError("There is no text to explain: give at least one word.")
    return pipeline.task.subject(pipeline.model, row, pipeline.recipe, target)


def _written(subject: Subject) -> str | None:
    """What was written, which another model is to write too; labels and tags hang on no other, and are its own."""
    written = any(unit.span is not None for unit in subject.outputs.units)
    return subject.outputs.text if written else None
