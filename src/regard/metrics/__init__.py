"""Scores that carry how they were made: sacreBLEU's, shares of right lines, edit rates; and comparisons of systems."""

from regard.metrics.comparing import Comparison, compare
from regard.metrics.metric import Metric, Score
from regard.metrics.scoring import METRICS, metric, score, score_lines

__all__ = ["METRICS", "Comparison", "Metric", "Score", "compare", "metric", "score", "score_lines"]
