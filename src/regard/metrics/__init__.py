"""Scores that carry how they were made: the field's own scorers', edit rates, likelihoods; systems compared."""

from regard.metrics.comparing import Comparison, compare
from regard.metrics.entities import Found, per_type
from regard.metrics.labels import Confusion, confusion
from regard.metrics.likelihood import Likelihood
from regard.metrics.metric import Metric, Score
from regard.metrics.scoring import METRICS, metric, score, score_likelihood, score_lines

__all__ = [
    "METRICS",
    "Comparison",
    "Confusion",
    "Found",
    "Likelihood",
    "Metric",
    "Score",
    "compare",
    "confusion",
    "metric",
    "per_type",
    "score",
    "score_likelihood",
    "score_lines",
]
