"""The metrics by name, and outputs scored with them.

To add one: write its class, add it to METRICS.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from regard.config import Part, make
from regard.errors import ConfigError, DataError
from regard.metrics.answers import AnswerExact, AnswerF1
from regard.metrics.diversity import Distinct1, Distinct2
from regard.metrics.edits import CharacterError, Exact, LineError, PhonemeError, WordError
from regard.metrics.entities import EntityF1, EntityPrecision, EntityRecall
from regard.metrics.labels import Accuracy, MacroF1, MicroF1
from regard.metrics.likelihood import (
    BitsPerCharacter,
    Likelihood,
    NatsPerCharacter,
    Perplexity,
    PerUnit,
    WordPerplexity,
)
from regard.metrics.metric import Given, Metric, References, Score, paired
from regard.metrics.summaries import Rouge1, Rouge2, RougeL, RougeLsum
from regard.metrics.translation import Bleu, BleuLower, Chrf, Ter

__all__ = [
    "METRICS",
    "Choice",
    "Given",
    "measuring",
    "metric",
    "paired",
    "score",
    "score_likelihood",
    "score_lines",
    "signed",
]

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
    "rouge1": Rouge1,
    "rouge2": Rouge2,
    "rougeL": RougeL,
    "rougeLsum": RougeLsum,
    "accuracy": Accuracy,
    "macro_f1": MacroF1,
    "micro_f1": MicroF1,
    "entity_f1": EntityF1,
    "entity_precision": EntityPrecision,
    "entity_recall": EntityRecall,
    "answer_exact": AnswerExact,
    "answer_f1": AnswerF1,
    "distinct_1": Distinct1,
    "distinct_2": Distinct2,
    "perplexity": Perplexity,
    "word_perplexity": WordPerplexity,
    "nats_per_character": NatsPerCharacter,
    "bits_per_character": BitsPerCharacter,
}

# A metric, or what a recipe says for one: its name, or a table of its name and settings.
Choice = str | Mapping[str, Any] | Part | Metric


def metric(choice: Choice) -> Metric:
    """The metric that `choice` names."""
    return choice if isinstance(choice, Metric) else make("metric", METRICS, choice)


def measuring(choice: Choice, outputs: Sequence[str] | Sequence[Likelihood]) -> Metric:
    """The metric that `choice` names, if outputs such as these are what it is of."""
    measure = metric(choice)
    given = "likelihood" if outputs and isinstance(outputs[0], Likelihood) else "texts"
    if outputs and measure.of != given:
        names = {"texts": "texts", "likelihood": "likelihoods"}
        known = ", ".join(sorted(name for name, kind in METRICS.items() if kind.of == given))
        raise ConfigError(
            f"{measure.name} is of {names[measure.of]}, and {names[given]} were given; for these there is {known}."
        )
    lines = [line for line in outputs if isinstance(line, Likelihood)]
    return measure.of_lines(lines) if isinstance(measure, PerUnit) else measure


def score(outputs: Sequence[str], references: Given, choice: Choice = "bleu") -> Score:
    """The score of all outputs together."""
    measure, allowed = measuring(choice, outputs), paired(outputs, references)
    return signed(measure, measure.value_of(outputs, allowed), allowed)


def score_lines(outputs: Sequence[str], references: Given, choice: Choice = "bleu") -> list[float]:
    """The value of every output alone; their mean is not the value of all of them together."""
    measure, allowed = measuring(choice, outputs), paired(outputs, references)
    return [measure.line_value(row) for row in measure.statistics(outputs, allowed)]


def score_likelihood(told: Sequence[Likelihood], choice: Choice = "perplexity") -> Score:
    """The score of how likely all lines were."""
    if not told:
        raise DataError("There is nothing to score: no line was given.")
    measure = measuring(choice, told)
    return signed(measure, measure.value_of(told, []), [])


def signed(measure: Metric, value: float, references: References) -> Score:
    """The value as a score of this metric."""
    return Score(measure.name, value, measure.signature(references), measure.higher_is_better)
