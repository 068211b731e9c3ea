"""LIME: a weighted linear model of what the model says about versions of a text   (Ribeiro et al. 2016)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from regard.explain.attribution import Attribution
from regard.explain.budget import DrawSettings, Progress, rounds, student
from regard.explain.groups import PerturbationSettings
from regard.explain.subject import Subject
from regard.explain.versions import Versions, rounding

CAVEAT = (
    "LIME fits a straight line to texts with words missing at random: words that work only together are averaged over, "
    "and the weights depend on the kernel's width; the intervals tell sampling error only."
)


class LimeSettings(PerturbationSettings, DrawSettings):
    """How many versions are drawn, how fast they count less with distance, and how the fit is held back."""

    samples: PositiveInt = 1000
    # Of the kernel exp(-distance^2 / (2 width^2)), where distance is 1 - cosine of what is kept and everything.
    width: PositiveFloat = 0.25
    # The penalty is ridge x samples x |weights|^2: its effect does not shrink with more samples. The default only
    # makes the fit solvable.
    ridge: NonNegativeFloat = 1e-8

    def least(self, groups: int) -> int:
        """The fewest versions a fit of so many weights is made from."""
        return max(50, 3 * (groups + 1))

    def cost(self, groups: int) -> int:
        """How many versions are scored at most."""
        return max(self.samples, self.least(groups))


@dataclass(frozen=True)
class Fit:
    """A weighted linear fit: weights, half their 95 % intervals, and the share of the variance left over."""

    weights: Float[np.ndarray, "O G"]
    error: Float[np.ndarray, "O G"]
    unexplained: Float[np.ndarray, " O"]


def lime(subject: Subject, settings: LimeSettings, progress: Progress | None = None) -> Attribution:
    """The weights of a linear model of log p, near the text, for each output."""
    versions = Versions(subject, settings)
    kept_NG, scores_NO = _drawn(versions, settings, progress)
    found = fit(kept_NG, scores_NO, kernel(kept_NG, settings.width), settings.ridge)
    draws = f"{len(kept_NG)} versions, kernel width {settings.width:g}, ridge {settings.ridge:g}, seed {settings.seed}"
    return Attribution(
        method="lime",
        outputs=subject.outputs,
        inputs=versions.groups.axis,
        weights=versions.groups.spread(found.weights),
        signed=True,
        error=versions.groups.spread(found.error + rounding(scores_NO)),
        source=f"{settings.said}; {draws}",
        check={"unexplained": float(found.unexplained.max())},
        caveat=CAVEAT,
    )


def _drawn(
    versions: Versions, settings: LimeSettings, progress: Progress | None
) -> tuple[Bool[np.ndarray, "N G"], Float[np.ndarray, "N O"]]:
    """Versions that keep each group or not, like the toss of a coin, and their scores."""
    random, groups = np.random.default_rng(settings.seed), len(versions.groups)
    kept, scores = [], []
    for size in rounds(settings, settings.least(groups), versions.batch, progress):
        kept.append(random.random((size, groups)) < 0.5)
        scores.append(versions(kept[-1]))
    return np.concatenate(kept), np.concatenate(scores)


def kernel(kept: Bool[np.ndarray, "N G"], width: float) -> Float[np.ndarray, " N"]:
    """exp(-d^2 / (2 width^2)), where d = 1 - cosine(kept, everything)."""
    distance_N = 1 - np.sqrt(kept.mean(axis=1))
    return np.exp(-(distance_N**2) / (2 * width**2))


def fit(
    kept: Bool[np.ndarray, "N G"], scores: Float[np.ndarray, "N O"], counts: Float[np.ndarray, " N"], ridge: float
) -> Fit:
    """(X'CX + N ridge I)^-1 X'CY, and intervals that do not need the linear model to be right.

    The intervals are of the fit that endless versions would give: the sandwich estimate with residuals as if each
    version had been left out   (White 1980; MacKinnon and White 1985, HC3).
    """
    design_NP = np.concatenate([np.ones((len(kept), 1)), kept], axis=1)
    penalty_P = np.full(design_NP.shape[1], len(kept) * ridge)
    penalty_P[0] = 0.0
    inverse_PP = np.linalg.pinv((design_NP.T * counts) @ design_NP + np.diag(penalty_P), hermitian=True)
    weights_PO = inverse_PP @ (design_NP.T * counts) @ scores
    residuals_NO = scores - design_NP @ weights_PO
    influence_NP = design_NP @ inverse_PP
    leverage_N = np.minimum(counts * (influence_NP * design_NP).sum(axis=1), 0.999)
    pulls_NO = residuals_NO * (counts / (1 - leverage_N))[:, None]
    # With a ridge the pulls do not cancel out; their spread is around their mean.
    mean_PO = influence_NP.T @ pulls_NO / len(kept)
    variance_PO = (influence_NP**2).T @ pulls_NO**2 - len(kept) * mean_PO**2
    error_PO = student(len(kept) - design_NP.shape[1]) * np.sqrt(np.maximum(variance_PO, 0))
    return Fit(weights_PO[1:].T, error_PO[1:].T, _unexplained(scores, residuals_NO, counts))


def _unexplained(
    scores: Float[np.ndarray, "N O"], residuals: Float[np.ndarray, "N O"], counts: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " O"]:
    """1 - R^2, weighted; 0 where there is nothing to explain."""
    around_NO = scores - np.average(scores, axis=0, weights=counts)
    all_O, left_O = counts @ around_NO**2, counts @ residuals**2
    return np.divide(left_O, all_O, out=np.zeros_like(left_O), where=all_O > 1e-12 * counts.sum())
