"""What rounding or a shortlist costs: the recipe's own metrics on rows of validation, by the model and by the other."""

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from regard.api.materials import Materials
from regard.api.pipeline import Pipeline
from regard.engines import Engine
from regard.errors import RegardError
from regard.metrics import metric
from regard.tasks import Recipe

# Enough to tell a point of BLEU from none, few enough to wait for.
ROWS = 200


@dataclass(frozen=True)
class Cost:
    """One metric on so many rows of validation, before and after."""

    metric: str
    rows: int
    before: float
    after: float

    def __str__(self) -> str:
        change = f"{self.before:.2f} before, {self.after:.2f} now, {self.after - self.before:+.2f}"
        return f"{self.metric} on {self.rows:,} rows of validation: {change}"

    def plain(self) -> dict[str, Any]:
        return {"metric": self.metric, "rows": self.rows, "before": self.before, "after": self.after}


def costs(pipeline: Pipeline, engine: Engine, recipe: Recipe) -> list[Cost]:
    """Of every metric that compares outputs, on the validation of a recipe; none where its files are not there."""
    parts = [part for part in pipeline.recipe.metrics if metric(part).of == "texts"]
    try:
        corpus = Materials(recipe).valid
        rows = [row.fields for row in islice(corpus, ROWS)]
    except RegardError:
        return []
    if not rows or not parts:
        return []
    asked = pipeline.speaking(corpus)
    before, after = (each.judged(rows, parts).scores for each in (asked, replace(asked, engine=engine)))
    return [Cost(name, len(rows), found.value, after[name].value) for name, found in before.items()]
