"""Whether a difference between two systems is more than the luck of the test set."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regard.errors import ConfigError
from regard.metrics.likelihood import Likelihood
from regard.metrics.metric import Metric, Score
from regard.metrics.scoring import Choice, Given, measuring, paired, signed

# How many draws of a line are held at a time.
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same lines.

    `delta` is the second's value less the first's; `interval` holds it in 95 of 100 resampled test sets; `p_value` is
    how often a difference as large would come about if there were none. `samples` counts the test sets on which both
    have a value; without any, nothing is known: the interval is no number and the p-value 1.
    """

    first: Score
    second: Score
    delta: float
    p_value: float
    interval: tuple[float, float]
    samples: int

    def __str__(self) -> str:
        low, high = self.interval
        values = f"{self.first.name} {self.first.value:.2f} and {self.second.value:.2f}: {self.delta:+.2f}"
        if not self.samples:
            return f"{values}, p = 1: no test set drawn from this one has a value for both"
        return f"{values} ({low:+.2f} to {high:+.2f}), p = {self.p_value:.3f}, {self.samples} samples"


def compare(
    outputs_a: Sequence[str] | Sequence[Likelihood],
    outputs_b: Sequence[str] | Sequence[Likelihood],
    references: Given,
    choice: Choice = "bleu",
    samples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Paired bootstrap resampling (Koehn 2004): both systems scored on the same test sets drawn from this one.

    The p-value is two-sided, with the differences moved to mean zero (Riezler & Maxwell 2005).
    """
    if samples < 1:
        raise ConfigError(f"samples = {samples}: at least one test set has to be drawn; 1000 is usual.")
    measure = measuring(choice, outputs_a)
    allowed = paired(outputs_a, references)
    paired(outputs_b, references)
    rows = [measure.statistics(outputs, allowed) for outputs in (outputs_a, outputs_b)]
    first, second = (measure.value(row.sum(axis=0)) for row in rows)
    differences = _differences(measure, rows[0], rows[1], samples, seed)
    return Comparison(
        first=signed(measure, first, allowed),
        second=signed(measure, second, allowed),
        delta=second - first,
        p_value=_p_value(differences, second - first),
        interval=_interval(differences),
        samples=len(differences),
    )


def _differences(
    measure: Metric,
    first: Float[np.ndarray, "lines columns"],
    second: Float[np.ndarray, "lines others"],
    samples: int,
    seed: int,
) -> Float[np.ndarray, " scored"]:
    """Second less first on every resampled test set on which that is a number: all lines of a kind may be missing."""
    differences = [
        measure.value(one) - measure.value(other)
        for draws in _draws(len(first), samples, seed)
        for one, other in zip(draws @ second, draws @ first, strict=True)
    ]
    found = np.array(differences)
    return found[np.isfinite(found)]


def _draws(lines: int, samples: int, seed: int) -> Iterator[Float[np.ndarray, "samples lines"]]:
    """How often each line is drawn into each test set, some test sets at a time."""
    generator = np.random.default_rng(seed)
    at_once = max(_AT_ONCE // lines, 1)
    for start in range(0, samples, at_once):
        count = min(at_once, samples - start)
        yield generator.multinomial(lines, np.full(lines, 1 / lines), size=count).astype(np.float64)


def _interval(differences: Float[np.ndarray, " samples"]) -> tuple[float, float]:
    if not len(differences):
        return math.nan, math.nan
    return float(np.quantile(differences, 0.025)), float(np.quantile(differences, 0.975))


def _p_value(differences: Float[np.ndarray, " samples"], delta: float) -> float:
    if not len(differences) or not math.isfinite(delta):
        return 1.0
    # Rounding must not make a difference out of none.
    as_large = np.abs(differences - differences.mean()) >= abs(delta) - 1e-9
    return float((as_large.sum() + 1) / (len(differences) + 1))
