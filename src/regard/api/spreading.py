"""Evaluation by all processes of a run: each takes rows of its own, and all know what came of every row, in order."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from regard.api.pipeline import Evaluation, Pipeline
from regard.config import Part
from regard.metrics import Likelihood, metric
from regard.train.distributed import Team


def judged(pipeline: Pipeline, rows: Sequence[Mapping[str, str]], metrics: Sequence[Part], team: Team) -> Evaluation:
    """The scores `pipeline.judged` gives. Of several processes, each has all texts but none of the results."""
    if team.size == 1:
        return pipeline.judged(rows, metrics)
    kinds = {metric(part).of for part in metrics} or {"texts"}
    texts = team.whole(_texts(pipeline, team.own(rows))) if "texts" in kinds else []
    told = _told(pipeline, rows, team) if "likelihood" in kinds else []
    found = Evaluation({}, [], texts, [Likelihood(**one) for one in told], {})
    references = [pipeline.references(row) for row in rows]
    return replace(found, scores={str(part): found.score(part, references) for part in metrics})


def _texts(pipeline: Pipeline, rows: Sequence[Mapping[str, str]]) -> list[str]:
    return [pipeline.task.compared(result) for result in pipeline.predict(map(pipeline.asked, rows))]


def _told(pipeline: Pipeline, rows: Sequence[Mapping[str, str]], team: Team) -> list[dict[str, Any]]:
    """How likely each row is; rows that are one text are read in their order, by every process all of them."""
    apart = pipeline.task.apart
    own = team.own(rows) if apart else rows
    found = [asdict(one) for one in pipeline.task.likelihood(pipeline.model, own, pipeline.recipe)]
    return team.whole(found) if apart else found
