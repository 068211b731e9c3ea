"""How sure one may be of an output, from its attention and its probabilities, held against real errors.

Attention that leaves inputs unread, or that is spread thin, is a sign of trouble   (Rikters and Fishel 2017). It is a
weak sign: `Calibration` says how weak on the data at hand, and attention says little beyond the probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from regard.errors import DataError
from regard.explain.asking import Choice, chosen, probabilities, refuse_empty, rows, seen, stack
from regard.explain.subject import Subject

SIGNALS = ("coverage", "focus", "probability")
# Of fewer texts nothing can be learned.
FEWEST = 20
BINS = 5
# How far the fit is held back, in texts' worth of doubt.
RIDGE = 1.0
WEAK = 0.3


@dataclass(frozen=True)
class Signals:
    """What an output tells of itself; each is between 0 and 1, and more is better."""

    # How much of the inputs was looked at: the mean of each one's weights, no more than 1 counted.
    coverage: float
    # 1 - entropy of the attention / entropy if it were spread evenly, the mean over outputs.
    focus: float
    # The geometric mean of the probabilities.
    probability: float

    def row(self) -> tuple[float, float, float]:
        return self.coverage, self.focus, self.probability


@dataclass(frozen=True)
class Bin:
    """Texts of which about as much was expected: how much, how good they were, how many they are."""

    expected: float
    found: float
    count: int


@dataclass(frozen=True)
class Calibration:
    """Expected quality from signals, fitted on some texts, and what it is worth on others.

    `correlations` (Spearman's) are of each signal and of all together with the real quality there.
    """

    weights: tuple[float, ...]
    mean: float
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    correlations: dict[str, float]
    table: tuple[Bin, ...]

    def expected(self, signals: Signals) -> float:
        """The quality one may expect, between 0 and 1."""
        return float(_expected(self, np.array([signals.row()]))[0])

    @property
    def error(self) -> float:
        """How far expected and real quality are apart, the mean over bins by their size."""
        total = sum(one.count for one in self.table)
        return sum(abs(one.expected - one.found) * one.count for one in self.table) / total

    @property
    def verdict(self) -> str:
        """What it is worth, in a sentence."""
        together = self.correlations["together"]
        worth = "a weak sign" if together < WEAK else "a sign, not a proof"
        return f"The confidence is {worth} of quality: rank correlation {together:.2f} on texts it was not fitted on."

    def plain(self) -> dict[str, Any]:
        table = [vars(one) for one in self.table]
        return {"correlations": self.correlations, "error": self.error, "table": table, "verdict": self.verdict}

    def __str__(self) -> str:
        lines = ["expected  found  texts"]
        lines += [f"{one.expected:8.2f}  {one.found:5.2f}  {one.count:5}" for one in self.table]
        told = ", ".join(f"{name} {value:.2f}" for name, value in self.correlations.items())
        return "\n".join([self.verdict, f"Rank correlations: {told}.", *lines])


@torch.no_grad()
def signals(subject: Subject, choice: Choice | None = None) -> Signals:
    """Coverage, focus and probability of one output; by itself of the last layer's mean over heads."""
    refuse_empty(subject)
    choice = choice or Choice()
    looks = stack(subject, choice.kind, choice.queries)
    look = chosen(looks, choice.layer)[-1]
    found = seen(subject, look, choice.head)
    text = [place for place, unit in enumerate(subject.inputs.units) if not unit.special]
    weights_OS = rows(subject, look, found.map)[:, : len(subject.inputs)].double().cpu()
    coverage = float(weights_OS.sum(0)[text].clamp(max=1.0).mean())
    entropy_O = -torch.xlogy(weights_OS, weights_OS).sum(-1)
    most = float(np.log(max(weights_OS.shape[1], 2)))
    probability = float(np.exp(np.mean(np.log(np.maximum(probabilities(found.scores), 1e-30)))))
    return Signals(coverage, 1.0 - float(entropy_O.mean()) / most, probability)


def calibrated(found: Sequence[Signals], quality: Sequence[float]) -> Calibration:
    """Fitted on every other text, judged on the rest; `quality` is of each, from 0 to 1, such as chrF / 100."""
    if len(found) != len(quality) or len(found) < FEWEST:
        raise DataError(f"{len(found)} texts with {len(quality)} figures of quality; give {FEWEST} or more, one each.")
    inputs_NX, real_N = np.array([one.row() for one in found]), np.array(quality, dtype=np.float64)
    if not np.isfinite(real_N).all() or real_N.min() < 0 or real_N.max() > 1:
        raise DataError("Quality goes from 0 to 1; divide percentages by 100.")
    fitted = _fitted(inputs_NX[::2], real_N[::2])
    expected_N = _expected(fitted, inputs_NX[1::2])
    columns = dict(zip(SIGNALS, inputs_NX[1::2].T, strict=True)) | {"together": expected_N}
    correlations = {name: correlation(column, real_N[1::2]) for name, column in columns.items()}
    return Calibration(
        fitted.weights, fitted.mean, fitted.centre, fitted.scale, correlations, _table(expected_N, real_N[1::2])
    )


def correlation(one: Float[np.ndarray, " N"], other: Float[np.ndarray, " N"]) -> float:
    """Spearman's: of the ranks, equals sharing theirs; 0 where one of them is always the same."""
    first, second = _ranks(one), _ranks(other)
    if first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _fitted(inputs: Float[np.ndarray, "N X"], quality: Float[np.ndarray, " N"]) -> Calibration:
    """Least squares of standardized signals, held back by a ridge."""
    centre, scale = inputs.mean(0), np.maximum(inputs.std(0), 1e-6)
    standard = (inputs - centre) / scale
    left = standard.T @ standard + RIDGE * np.eye(standard.shape[1])
    weights = np.linalg.solve(left, standard.T @ (quality - quality.mean()))
    return Calibration(
        tuple(weights.tolist()), float(quality.mean()), tuple(centre.tolist()), tuple(scale.tolist()), {}, ()
    )


def _expected(fitted: Calibration, inputs: Float[np.ndarray, "N X"]) -> Float[np.ndarray, " N"]:
    standard = (inputs - np.array(fitted.centre)) / np.array(fitted.scale)
    return np.clip(fitted.mean + standard @ np.array(fitted.weights), 0.0, 1.0)


def _table(expected: Float[np.ndarray, " N"], found: Float[np.ndarray, " N"]) -> tuple[Bin, ...]:
    """Bins of as many texts each, from the least expected to the most."""
    order = np.argsort(expected, kind="stable")
    parts = [part for part in np.array_split(order, BINS) if len(part)]
    return tuple(Bin(float(expected[part].mean()), float(found[part].mean()), len(part)) for part in parts)


def _ranks(values: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2.0)[place]
