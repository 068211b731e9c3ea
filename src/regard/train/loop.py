"""The loop: a generator that makes one update at a time and tells what came of it.

It knows modules and functions. Whoever iterates logs, draws and saves; whatever it needs to go on after a stop is in
`Progress` (plain numbers) and in the tensors `tensors` gathers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Generic, Literal, TypeVar

import torch
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor, nn

from regard.config import Settings
from regard.errors import DataError, RegardError
from regard.nn.losses import Loss
from regard.nn.parameters import fill, named
from regard.train import optimizers
from regard.train.checkpoints import Checkpoint
from regard.train.schedules import Schedule

B = TypeVar("B")
# Where the data stand after a batch, epoch first, in whatever numbers the data find their way back by.
Position = tuple[int, ...]


class FitSettings(Settings):
    """How many updates of what size, how often to look, when to stop."""

    updates: PositiveInt = 10_000
    accumulate: PositiveInt = 1
    clip: PositiveFloat | None = 1.0
    every: PositiveInt = 500
    # The score that decides which update was best; `loss` is of validation and the lower the better.
    watch: str = "loss"
    higher: bool = False
    patience: PositiveInt | None = None
    # What to do about a loss or gradient that is not a number: stop and name the batch, or leave it out and count.
    nonfinite: Literal["stop", "skip"] = "stop"


class NotFinite(RegardError):
    """A loss or gradient that is no number; nothing was changed by it."""


@dataclass(frozen=True)
class Progress:
    """All that a run remembers beside tensors."""

    update: int = 0
    position: Position = ()
    best: float | None = None
    best_update: int = 0
    waited: int = 0
    skipped: int = 0

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> "Progress":
        """Progress as it was stored."""
        return cls(**{**facts, "position": tuple(facts["position"])})

    def facts(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Step:
    """One update: its loss per target, how many targets, the rate, the gradient's norm; scores when it was time."""

    progress: Progress
    loss: float
    count: int
    rate: float
    norm: float
    scores: Mapping[str, float] | None = None
    best: bool = False
    last: bool = False


@dataclass
class Learner(Generic[B]):
    """What learns, from what, and how: a module, the loss of a batch, an optimizer, a schedule."""

    model: nn.Module
    loss: Callable[[B], Loss]
    optimizer: torch.optim.Optimizer
    schedule: Schedule

    def checkpoint(self, progress: Progress) -> Checkpoint:
        """All of the run's state at this moment."""
        tensors = {
            "parameters": named(self.model),
            "optimizer": optimizers.tensors(self.optimizer),
            "random": _random(),
        }
        return Checkpoint(progress.update, tensors, {"progress": progress.facts()})

    def restore(self, checkpoint: Checkpoint) -> Progress:
        """Put that state back, and go on from there as if nothing had happened."""
        fill(self.model, checkpoint.tensors["parameters"], "The checkpoint")
        optimizers.load(self.optimizer, checkpoint.tensors["optimizer"])
        _set_random(checkpoint.tensors["random"])
        return Progress.read(checkpoint.facts["progress"])


def fit(
    learner: Learner[B],
    batches: Iterable[tuple[Position, B]],
    evaluate: Callable[[], Mapping[str, float]],
    settings: FitSettings,
    progress: Progress | None = None,
) -> Iterator[Step]:
    """Updates until there are enough, until patience ends, or until the data do.

    `batches` gives each batch with the data's position after it, from where `progress` stands.
    """
    progress = progress or Progress()
    coming = iter(batches)
    while progress.update < settings.updates and not _impatient(progress, settings):
        group = list(islice(coming, settings.accumulate))
        if not group:
            return
        step = _update(learner, group, settings, progress)
        if step.progress.update % settings.every == 0 or step.progress.update == settings.updates:
            step = _judged(step, evaluate(), settings)
            learner.model.train()
        progress = step.progress
        yield replace(step, last=progress.update >= settings.updates or _impatient(progress, settings))


def _update(learner: Learner[B], group: list[tuple[Position, B]], settings: FitSettings, progress: Progress) -> Step:
    """One update from all batches of a group, each weighed by its targets: however they are split, the same."""
    learner.model.train()
    learner.optimizer.zero_grad()
    losses = [_backward(learner.loss(batch)) for _, batch in group]
    count = int(sum(loss.count for loss in losses))
    total = float(sum(loss.total.detach() for loss in losses))
    norm = _scaled(learner.model, 1.0 / max(count, 1), settings.clip)
    after = replace(progress, update=progress.update + 1, position=group[-1][0])
    rate = learner.schedule.rate(after.update)
    if not (torch.isfinite(torch.tensor(total)) and torch.isfinite(torch.tensor(norm))):
        after = _not_finite(after, settings, total, norm)
    else:
        for parameters in learner.optimizer.param_groups:
            parameters["lr"] = rate
        learner.optimizer.step()
    return Step(after, total / max(count, 1), count, rate, norm)


def _backward(loss: Loss) -> Loss:
    if loss.total.requires_grad:
        loss.total.backward()
    return loss


def _scaled(model: nn.Module, share: float, clip: float | None) -> float:
    """Turn gradients of a sum into those of a mean, clipped at a norm, in one pass; the norm before clipping."""
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    if not gradients:
        raise DataError("A batch without a single target; there is nothing to learn from it.")
    norm = float(torch.nn.utils.get_total_norm(gradients)) * share
    factor = share if clip is None or norm <= clip else share * clip / norm
    torch._foreach_mul_(gradients, factor)
    return norm


def _not_finite(after: Progress, settings: FitSettings, total: float, norm: float) -> Progress:
    if settings.nonfinite == "skip":
        return replace(after, skipped=after.skipped + 1)
    place = ", ".join(map(str, after.position))
    raise NotFinite(
        f"Update {after.update} (data up to {place}): loss {total}, gradient norm {norm}. Nothing was "
        "changed. Lower the rate, lengthen the warm-up, or set nonfinite = 'skip' to leave such batches out."
    )


def _judged(step: Step, scores: Mapping[str, float], settings: FitSettings) -> Step:
    """The step with its scores, and whether it is the best so far."""
    if settings.watch not in scores:
        raise DataError(f"watch = {settings.watch!r} is none of the scores there are: {', '.join(sorted(scores))}.")
    score, progress = scores[settings.watch], step.progress
    better = progress.best is None or (score > progress.best if settings.higher else score < progress.best)
    if better:
        progress = replace(progress, best=score, best_update=progress.update, waited=0)
    else:
        progress = replace(progress, waited=progress.waited + 1)
    return replace(step, progress=progress, scores=dict(scores), best=better)


def _impatient(progress: Progress, settings: FitSettings) -> bool:
    return settings.patience is not None and progress.waited >= settings.patience


def _random() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    for device in range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0):
        states[f"cuda-{device}"] = torch.cuda.get_rng_state(device)
    return states


def _set_random(states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    for name, state in states.items():
        if name.startswith("cuda-"):
            torch.cuda.set_rng_state(state, int(name.removeprefix("cuda-")))
