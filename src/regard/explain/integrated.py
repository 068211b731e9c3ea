"""From the gradient with respect to the inputs' embeddings: at one point, or along the way from a baseline."""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from numpy.polynomial.legendre import leggauss
from pydantic import Field, PositiveInt
from torch import Tensor

from regard.attention import record, replace
from regard.config import Settings
from regard.errors import ModelError
from regard.explain.asking import MANY_PIECES, differentiable, probabilities, refuse_empty, still
from regard.explain.attribution import Attribution
from regard.explain.subject import Subject
from regard.explain.weights import plain

GRADIENT_CAVEAT = "A gradient tells of small changes only; where the model is sure it is near zero everywhere."
INTEGRATED_CAVEAT = "What counts is counted against a baseline, and another baseline gives other numbers."

# An output that hardly changes between baseline and input is measured against this much of a log-probability.
LEAST_CHANGE = 0.01


class InputGradientSettings(Settings):
    """Nothing to choose."""


class IntegratedSettings(Settings):
    """The baseline has blanks for all pieces that are text, or zeros for all.

    Steps double, `most` at the utmost, until the parts miss no more than `tolerance` of the whole.
    """

    baseline: Literal["blank", "zero"] = "blank"
    steps: PositiveInt = 32
    most: PositiveInt = 1024
    tolerance: Annotated[float, Field(gt=0)] = 0.01


@torch.inference_mode(False)
def input_gradient(subject: Subject, settings: InputGradientSettings) -> Attribution:
    """sum_d x_d * d log p / d x_d, x an input's embedding   (Denil et al. 2014)."""
    refuse_empty(subject)
    point_SD = embedding(subject, subject.pieces)
    found_OS = along(subject, point_SD[None], torch.ones(1), point_SD)
    return _attribution(subject, "input_gradient", found_OS, "embeddings", {}, GRADIENT_CAVEAT)


@torch.inference_mode(False)
def integrated_gradients(subject: Subject, settings: IntegratedSettings) -> Attribution:
    """(x - b) * integral_0^1 d log p / d x (b + a (x - b)) da   (Sundararajan et al. 2017)."""
    refuse_empty(subject)
    point_SD, base_SD = embedding(subject, subject.pieces), baseline(subject, settings.baseline)
    found_OS, gap, count = integrated(subject, point_SD, base_SD, settings)
    caveat = INTEGRATED_CAVEAT
    if gap > settings.tolerance:
        caveat += f" After {count} steps the parts still miss the whole by {gap:.1%}; allow more steps."
    source = f"embeddings, {count} steps from {settings.baseline}s"
    return _attribution(subject, "integrated_gradients", found_OS, source, {"completeness": gap}, caveat)


@torch.no_grad()
def embedding(subject: Subject, pieces: Int[Tensor, " S"]) -> Float[Tensor, "S D"]:
    """The inputs' vectors as they enter the first layer, positions included."""
    with still(subject.model), record(subject.model, subject.embedded, examples=[0]) as seen:
        subject.scores(pieces[None])
    if not seen:
        raise ModelError(f"Nothing passed {subject.embedded} while this was scored; the subject names another tap.")
    return seen[0].tensor[0, : len(pieces)]


def baseline(subject: Subject, kind: Literal["blank", "zero"]) -> Float[Tensor, "S D"]:
    """What the inputs are compared with; marks such as the end of a text are no text, and stay where blanks are put."""
    if kind == "zero":
        return torch.zeros_like(embedding(subject, subject.pieces))
    special_S = torch.tensor([unit.special for unit in subject.inputs.units], device=subject.pieces.device)
    return embedding(subject, subject.pieces.where(special_S, subject.blank))


def integrated(
    subject: Subject, point: Float[Tensor, "S D"], base: Float[Tensor, "S D"], settings: IntegratedSettings
) -> tuple[Float[Tensor, "O S"], float, int]:
    """The integral, what it misses as a share of the whole, and the steps it took."""
    change_O, count = whole(subject, point, base), settings.steps
    found_OS = summed(subject, point, base, count)
    while (gap := _gap(found_OS, change_O)) > settings.tolerance and count * 2 <= settings.most:
        count *= 2
        found_OS = summed(subject, point, base, count)
    return found_OS, gap, count


def summed(
    subject: Subject, point: Float[Tensor, "S D"], base: Float[Tensor, "S D"], count: int
) -> Float[Tensor, "O S"]:
    """The integral by Gauss and Legendre's rule with so many steps."""
    nodes_N, shares_N = (torch.tensor(one, dtype=point.dtype, device=point.device) for one in leggauss(count))
    total_OS = point.new_zeros(len(subject.outputs), len(point))
    for few in _few(count, len(point)):
        points_NSD = base + (nodes_N[few, None, None] + 1) / 2 * (point - base)
        total_OS += along(subject, points_NSD, shares_N[few] / 2, point - base)
    return total_OS


@torch.no_grad()
def whole(subject: Subject, point: Float[Tensor, "S D"], base: Float[Tensor, "S D"]) -> Float[Tensor, " O"]:
    """F(x) - F(b), which the parts of an input must sum to."""
    with still(subject.model):
        after_O, before_O = _scored(subject, torch.stack([point, base]))
    return after_O - before_O


def along(
    subject: Subject, points: Float[Tensor, "N S D"], shares: Float[Tensor, " N"], change: Float[Tensor, "S D"]
) -> Float[Tensor, "O S"]:
    """sum_n share_n * (change . gradient at point n), for each output and input."""
    with differentiable(subject.model):
        leaf_NSD = points.detach().clone().requires_grad_()
        totals_O = (_scored(subject, leaf_NSD) * shares.to(points.device)[:, None]).sum(0)
        gradients = [torch.autograd.grad(total, leaf_NSD, retain_graph=True)[0] for total in totals_O]
    return torch.stack([(gradient.sum(0) * change).sum(-1) for gradient in gradients])


def _scored(subject: Subject, points: Float[Tensor, "N S D"]) -> Float[Tensor, "N O"]:
    """The scores when the inputs' embeddings are these."""

    def put(embedded: Tensor) -> Tensor:
        if embedded.shape[0] != len(points):
            raise ModelError(f"{len(points)} versions were to be scored at once, and {embedded.shape[0]} were.")
        return torch.cat([points, embedded[:, points.shape[1] :]], dim=1)

    with replace(subject.model, subject.embedded, put):
        return subject.scores(subject.pieces.expand(len(points), -1))


def _few(count: int, length: int) -> Iterator[slice]:
    size = max(1, MANY_PIECES // length)
    for start in range(0, count, size):
        yield slice(start, start + size)


def _gap(found: Float[Tensor, "O S"], change: Float[Tensor, " O"]) -> float:
    """What the parts miss of the whole, as a share of it, for the worst output."""
    return float(((change - found.sum(-1)).abs() / change.abs().clamp(min=LEAST_CHANGE)).max())


def _attribution(
    subject: Subject, method: str, found: Float[Tensor, "O S"], source: str, check: dict[str, float], caveat: str
) -> Attribution:
    with torch.no_grad(), still(subject.model):
        likely = probabilities(subject.scores(subject.pieces[None])[0])
    return Attribution(
        method=method,
        outputs=subject.outputs,
        inputs=subject.inputs,
        weights=plain(found),
        signed=True,
        source=source,
        check=check,
        caveat=caveat,
        probabilities=likely,
    )
