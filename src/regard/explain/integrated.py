"""From the gradient with respect to the inputs' embeddings: at one point, or along the way from a baseline."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Literal, TypeAlias

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
# Steps in each stretch of the way.
NODES = 8
# A part of the way, from a share of it to another.
Stretch: TypeAlias = tuple[float, float]


class InputGradientSettings(Settings):
    """Nothing to choose."""


class IntegratedSettings(Settings):
    """The baseline has blanks for all pieces that are text, or zeros for all.

    There are `steps` at first, then more where they are needed, `most` at the utmost, until the parts miss no more than
    `tolerance` of the whole.
    """

    baseline: Literal["blank", "zero"] = "blank"
    steps: PositiveInt = 32
    most: PositiveInt = 1024
    tolerance: Annotated[float, Field(gt=0)] = 0.01


@torch.inference_mode(False)
def input_gradient(subject: Subject, settings: InputGradientSettings) -> Attribution:
    """sum_d x_d * d log p / d x_d, x an input's embedding   (Denil et al. 2014)."""
    refuse_empty(subject)
    point_1SD, scores_1O = embedded(subject, subject.pieces[None])
    found_OS = along(subject, point_1SD, point_1SD[0], range(len(subject.outputs)))[:, 0]
    return _attribution(subject, "input_gradient", (found_OS, scores_1O[0]), "embeddings", {}, GRADIENT_CAVEAT)


@torch.inference_mode(False)
def integrated_gradients(subject: Subject, settings: IntegratedSettings) -> Attribution:
    """(x - b) * integral_0^1 d log p / d x (b + a (x - b)) da   (Sundararajan et al. 2017)."""
    refuse_empty(subject)
    (point_SD, blank_SD), scores_2O = embedded(subject, torch.stack([subject.pieces, blanked(subject)]))
    base_SD = torch.zeros_like(point_SD) if settings.baseline == "zero" else blank_SD
    found_OS, gap, count = integrated(subject, point_SD, base_SD, settings)
    caveat = INTEGRATED_CAVEAT
    if gap > settings.tolerance:
        caveat += f" After {count} steps the parts still miss the whole by {gap:.1%}; allow more steps."
    source = f"embeddings, {count} steps from {settings.baseline}s"
    found = (found_OS, scores_2O[0])
    return _attribution(subject, "integrated_gradients", found, source, {"completeness": gap}, caveat)


@torch.no_grad()
def embedded(subject: Subject, pieces: Int[Tensor, "N S"]) -> tuple[Float[Tensor, "N S D"], Float[Tensor, "N O"]]:
    """The vectors of versions of the inputs as they enter the first layer, positions included, and their scores."""
    with still(subject.model), record(subject.model, subject.embedded) as seen:
        scores_NO = subject.scores(pieces)
    if not seen:
        raise ModelError(f"Nothing passed {subject.embedded} while this was scored; the subject names another tap.")
    # Inputs may be read in several goes, and a text that is written may stand behind them.
    return torch.cat([entry.tensor for entry in seen], dim=1)[:, : pieces.shape[1]], scores_NO


def blanked(subject: Subject) -> Int[Tensor, " S"]:
    """What the inputs are compared with: blanks for text; marks such as the end of a text are none, and stay."""
    special_S = torch.tensor([unit.special for unit in subject.inputs.units], device=subject.pieces.device)
    return subject.pieces.where(special_S, subject.blank)


def integrated(
    subject: Subject, point: Float[Tensor, "S D"], base: Float[Tensor, "S D"], settings: IntegratedSettings
) -> tuple[Float[Tensor, "O S"], float, int]:
    """The integral, what it misses as a share of the whole, and the steps it took.

    What a stretch of the way must sum to is known: the scores at its ends. So each stretch tells what it misses of each
    output, and steps go where something is missed, for the outputs of which it is.
    """
    nodes = min(NODES, settings.steps)
    way = Way(subject, point, base, nodes)
    edges = torch.linspace(0, 1, settings.steps // nodes + 1, dtype=torch.float64)
    way.take(list(pairwise(edges.tolist())))
    while (few := way.open(settings.tolerance)) and (split := way.worst(settings, few)):
        way.split(split, few)
    return way.found, float(way.gaps.max()), way.count


class Way:
    """The straight way from a baseline to a point in stretches, each with its part of the integral."""

    def __init__(self, subject: Subject, point: Float[Tensor, "S D"], base: Float[Tensor, "S D"], nodes: int) -> None:
        self.subject, self.base, self.change, self.count = subject, base, point - base, 0
        self.nodes, self.shares = (torch.from_numpy(one) for one in leggauss(nodes))
        self.scores: dict[float, Float[Tensor, " O"]] = {}
        self.parts: dict[Stretch, Float[Tensor, "O S"]] = {}

    def take(self, stretches: Sequence[Stretch], outputs: Sequence[int] | None = None) -> None:
        """The integral over these stretches, by Gauss and Legendre's rule; of some outputs, or all."""
        outputs = range(len(self.subject.outputs)) if outputs is None else outputs
        self._score({edge for stretch in stretches for edge in stretch})
        middles = torch.tensor([[(low + high) / 2, (high - low) / 2] for low, high in stretches], dtype=torch.float64)
        places_N = (middles[:, :1] + middles[:, 1:] * self.nodes).flatten()
        each = _few(len(places_N), len(self.base))
        found_ONS = torch.cat([self._along(places_N[few], outputs) for few in each], dim=1)
        weights_PN = (middles[:, 1:] * self.shares).to(found_ONS)
        for number, stretch in enumerate(stretches):
            few = slice(number * len(self.nodes), (number + 1) * len(self.nodes))
            if stretch not in self.parts:
                self.parts[stretch] = found_ONS.new_zeros(len(self.subject.outputs), found_ONS.shape[-1])
            self.parts[stretch][outputs] = torch.einsum("ons,n->os", found_ONS[:, few], weights_PN[number])
        self.count += len(places_N)

    def split(self, stretches: Sequence[Stretch], outputs: Sequence[int]) -> None:
        """Each of these in two, for some outputs; the others keep their part, in the first half."""
        halves = [list(pairwise((low, (low + high) / 2, high))) for low, high in stretches]
        for stretch, (first, _) in zip(stretches, halves, strict=True):
            self.parts[first] = self.parts.pop(stretch)
        self.take([half for both in halves for half in both], outputs)

    def open(self, tolerance: float) -> list[int]:
        """The outputs of which more is missed than may be."""
        return (self.gaps > tolerance).nonzero().flatten().tolist()

    def worst(self, settings: IntegratedSettings, outputs: Sequence[int]) -> list[Stretch]:
        """The stretches that miss more than their share, the worst first, as many as may be taken in steps."""
        missed = {stretch: float((self._missed(stretch).abs() / self._whole)[outputs].max()) for stretch in self.parts}
        room = (settings.most - self.count) // (2 * len(self.nodes))
        ranked = sorted(missed, key=lambda stretch: -missed[stretch])
        allowed = settings.tolerance / (2 * len(ranked))
        return [one for number, one in enumerate(ranked) if number == 0 or missed[one] > allowed][: max(room, 0)]

    @property
    def found(self) -> Float[Tensor, "O S"]:
        return torch.stack([self.parts[stretch] for stretch in sorted(self.parts)]).sum(0)

    @property
    def gaps(self) -> Float[Tensor, " O"]:
        """What the parts miss of the whole, as a share of it."""
        missed_O = torch.stack([self._missed(stretch) for stretch in self.parts]).sum(0)
        return missed_O.abs() / self._whole

    @property
    def _whole(self) -> Float[Tensor, " O"]:
        return (self.scores[1.0] - self.scores[0.0]).abs().clamp(min=LEAST_CHANGE)

    def _missed(self, stretch: Stretch) -> Float[Tensor, " O"]:
        low, high = stretch
        return self.scores[high] - self.scores[low] - self.parts[stretch].sum(-1)

    def _score(self, places: set[float]) -> None:
        new = sorted(places - self.scores.keys())
        with torch.no_grad(), still(self.subject.model):
            points_NSD = self._points(torch.tensor(new, dtype=torch.float64))
            parts = [_scored(self.subject, points_NSD[few]) for few in _few(len(new), len(self.base))]
        self.scores |= dict(zip(new, torch.cat(parts), strict=True))

    def _along(self, places: Float[Tensor, " N"], outputs: Sequence[int]) -> Float[Tensor, "O N S"]:
        return along(self.subject, self._points(places), self.change, outputs)

    def _points(self, places: Float[Tensor, " N"]) -> Float[Tensor, "N S D"]:
        return self.base + places.to(self.base)[:, None, None] * self.change


@torch.no_grad()
def whole(subject: Subject, point: Float[Tensor, "S D"], base: Float[Tensor, "S D"]) -> Float[Tensor, " O"]:
    """F(x) - F(b), which the parts of an input must sum to."""
    with still(subject.model):
        after_O, before_O = _scored(subject, torch.stack([point, base]))
    return after_O - before_O


def along(
    subject: Subject, points: Float[Tensor, "N S D"], change: Float[Tensor, "S D"], outputs: Sequence[int]
) -> Float[Tensor, "O N S"]:
    """change . gradient at each point, for each of these outputs and every input."""
    with differentiable(subject.model):
        leaf_NSD = points.detach().clone().requires_grad_()
        # Versions know nothing of one another, so that one sum has the gradients of all.
        totals_O = _scored(subject, leaf_NSD).sum(0)
        found = []
        for output in outputs:
            (slope_NSD,) = torch.autograd.grad(totals_O[output], leaf_NSD, retain_graph=output != outputs[-1])
            found.append((slope_NSD * change).sum(-1))
    return torch.stack(found)


def _scored(subject: Subject, points: Float[Tensor, "N S D"]) -> Float[Tensor, "N O"]:
    """The scores when the inputs' embeddings are these."""

    passed = 0

    def put(embedded: Tensor) -> Tensor:
        nonlocal passed
        if embedded.shape[0] != len(points):
            raise ModelError(f"{len(points)} versions were to be scored at once, and {embedded.shape[0]} were.")
        part_NSD = points[:, passed : passed + embedded.shape[1]]
        passed += embedded.shape[1]
        return torch.cat([part_NSD, embedded[:, part_NSD.shape[1] :]], dim=1)

    with replace(subject.model, subject.embedded, put):
        return subject.scores(subject.pieces.expand(len(points), -1))


def _few(count: int, length: int) -> Iterator[slice]:
    size = max(1, MANY_PIECES // length)
    for start in range(0, count, size):
        yield slice(start, start + size)


def _attribution(
    subject: Subject,
    method: str,
    found: tuple[Float[Tensor, "O S"], Float[Tensor, " O"]],
    source: str,
    check: dict[str, float],
    caveat: str,
) -> Attribution:
    """What was found of each output, and its score, as an explanation."""
    weights_OS, scores_O = found
    return Attribution(
        method=method,
        outputs=subject.outputs,
        inputs=subject.inputs,
        weights=plain(weights_OS),
        signed=True,
        source=source,
        check=check,
        caveat=caveat,
        probabilities=probabilities(scores_O),
    )
