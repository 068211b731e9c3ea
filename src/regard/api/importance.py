"""What a model makes use of in a data set: how much worse it does when a field, or a word, is shuffled among rows."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from pydantic import NonNegativeInt, PositiveInt

from regard.config import Part
from regard.errors import DataError
from regard.explain import Attribution
from regard.explain.budget import Progress
from regard.explain.permutation import Exchange, PermutationSettings, commonest, field, permutation, within
from regard.metrics import metric, score_lines

if TYPE_CHECKING:
    from regard.api.pipeline import Pipeline

Row = Mapping[str, str]
Rows = Sequence[Mapping[str, object]]
# A field with a structure is JSON, of which words are not words.
STRUCTURED = re.compile(r"\s*[\[{]")


class ImportanceSettings(PermutationSettings):
    """How many rows are drawn, how many of their commonest words are shuffled beside whole fields, and what counts.

    Without a measure it is the first metric of the recipe, of each row alone; of likelihoods, log p of a piece.
    """

    samples: PositiveInt = 10
    rows: PositiveInt = 200
    words: NonNegativeInt = 10
    measure: str = ""


def importance(
    pipeline: "Pipeline",
    rows: Sequence[Row],
    settings: ImportanceSettings | None = None,
    progress: Progress | None = None,
) -> Attribution:
    """How far the mean score of these rows falls when one column is shuffled, for each field and common word."""
    settings = settings or ImportanceSettings()
    if len(rows) < 2:
        raise DataError(f"{len(rows)} rows leave nothing to shuffle; give a data set of two or more.")
    drawn = np.random.default_rng(settings.seed).permutation(len(rows))[: settings.rows]
    chosen: list[Mapping[str, object]] = [dict(rows[number]) for number in sorted(drawn.tolist())]
    columns = _columns(pipeline, chosen, settings.words)
    return permutation(chosen, _score(pipeline, settings.measure), columns, settings, progress)


def _columns(pipeline: "Pipeline", rows: Rows, words: int) -> dict[str, Exchange[Mapping[str, object]]]:
    """Every field that is read, and the commonest words of each that is plain text."""
    names = pipeline.task.inputs()
    columns = {f"all of {name}": field(name) for name in names}
    for name in names:
        texts = [str(row[name]) for row in rows]
        if not any(STRUCTURED.match(text) for text in texts):
            label = "{}" if len(names) == 1 else f"{{}} ({name})"
            columns |= {label.format(word): within(name, one) for word, one in commonest(texts, words).items()}
    return columns


def _score(pipeline: "Pipeline", measure: str) -> Callable[[Rows], Float[np.ndarray, " N"]]:
    part = Part(name=measure) if measure else pipeline.recipe.metrics[0]
    likely = metric(part).of == "likelihood"

    def score(rows: Rows) -> Float[np.ndarray, " N"]:
        given = [{name: str(value) for name, value in row.items()} for row in rows]
        if likely:
            told = pipeline.task.likelihood(pipeline.model, given, pipeline.recipe)
            return np.array([-one.nll / max(one.pieces, 1) for one in told])
        texts = [pipeline.task.compared(one) for one in pipeline.predict(map(pipeline.asked, given))]
        return np.array(score_lines(texts, [pipeline.references(row) for row in given], part))

    return score
