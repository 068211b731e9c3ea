"""The metrics by name, and outputs scored with them.

To add one: write its class, add it to METRICS.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from regard.config import Part, make
from regard.errors import DataError
from regard.metrics.edits import CharacterError, Exact, LineError, PhonemeError, WordError
from regard.metrics.metric import Metric, References, Score
from regard.metrics.translation import Bleu, BleuLower, Chrf, Ter

METRICS: dict[str, type[Metric]] = {
    "bleu": Bleu,
    "bleu_lower": BleuLower,
    "chrf": Chrf,
    "ter": Ter,
    "exact": Exact,
    "line_error": LineError,
    "word_error": WordError,
    "phoneme_error": PhonemeError,
    "character_error": CharacterError,
}

# A metric, or what a recipe says for one: its name, or a table of its name and settings.
Choice = str | Mapping[str, Any] | Part | Metric
# For every output one reference, or several of which the best counts.
Given = Sequence[str | Sequence[str]]


def metric(choice: Choice) -> Metric:
    """The metric that `choice` names."""
    return choice if isinstance(choice, Metric) else make("metric", METRICS, choice)


def score(outputs: Sequence[str], references: Given, choice: Choice = "bleu") -> Score:
    """The score of all outputs together."""
    measure, allowed = metric(choice), paired(outputs, references)
    value = measure.value(measure.statistics(outputs, allowed).sum(axis=0))
    return signed(measure, value, allowed)


def score_lines(outputs: Sequence[str], references: Given, choice: Choice = "bleu") -> list[float]:
    """The value of every output alone; their mean is not the value of all of them together."""
    measure, allowed = metric(choice), paired(outputs, references)
    return [measure.line_value(row) for row in measure.statistics(outputs, allowed)]


def signed(measure: Metric, value: float, references: References) -> Score:
    """The value as a score of this metric."""
    return Score(measure.name, value, measure.signature(references), measure.higher_is_better)


def paired(outputs: Sequence[str], references: Given) -> list[Sequence[str]]:
    """The references of every output, or why they cannot be scored."""
    if len(outputs) != len(references):
        raise DataError(f"{len(outputs)} outputs but references for {len(references)}; every output needs its own.")
    if not outputs:
        raise DataError("There is nothing to score: no outputs and no references.")
    allowed = [[reference] if isinstance(reference, str) else reference for reference in references]
    if not all(allowed):
        raise DataError(f"Output {allowed.index([]) + 1} has no reference; give at least one.")
    return allowed
