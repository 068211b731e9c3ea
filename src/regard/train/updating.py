"""One update: losses, gradients, clipping, and what to do when they are no numbers."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from regard.errors import DataError, RegardError
from regard.nn.losses import Loss
from regard.train import optimizers
from regard.train.compiling import Compiled
from regard.train.ema import Ema
from regard.train.learner import Learner
from regard.train.precision import Scaler, chosen, narrowed
from regard.train.progress import Position, Progress, Step
from regard.train.settings import FitSettings

B = TypeVar("B")


class NotFinite(RegardError):
    """A loss or gradient that is no number; nothing was changed by it."""


class Updater(Generic[B]):
    """Makes a learner's updates as the settings ask."""

    def __init__(self, learner: Learner[B], settings: FitSettings) -> None:
        self.learner, self.settings = learner, settings
        self._dtype = chosen(settings.precision, learner.model)
        self._still = _still(learner.model)
        self._compiled: Callable[[], AbstractContextManager[None]] = nullcontext
        if settings.compile:
            self._compiled = Compiled(learner.model, settings.compile).used
        if self._dtype is torch.float16 and learner.scaler is None:
            learner.scaler = Scaler()
        if settings.ema is None:
            learner.ema = None
        elif learner.ema is None:
            learner.ema = Ema(learner.model)

    def update(self, group: list[tuple[Position, B]], progress: Progress) -> Step:
        """One update from all batches of a group, each weighed by its targets: however they are split, the same."""
        losses, norm = self._gradients(group)
        total, count = _sums(losses)
        after = replace(progress, update=progress.update + 1, position=group[-1][0])
        rate = self.learner.schedule.rate(after.update)
        scaler = self.learner.scaler
        if math.isfinite(total) and math.isfinite(norm):
            self._apply(rate)
            after = after.seen(total, count)
        elif math.isfinite(total) and scaler and not scaler.lowest:
            scaler.overflowed()
            after = replace(after.seen(total, count), overflowed=after.overflowed + 1)
        elif self.settings.nonfinite == "skip":
            after = replace(after, skipped=after.skipped + 1)
        else:
            raise self._not_finite(after, group, losses, norm)
        return Step(after, total / max(count, 1), count, rate, norm)

    def _gradients(self, group: list[tuple[Position, B]]) -> tuple[list[Loss], float]:
        """The losses of a group, and the norm of the mean's gradient, which the parameters now hold clipped."""
        learner = self.learner
        learner.model.train()
        for module in self._still:
            module.training = False
        learner.optimizer.zero_grad()
        scale = learner.scaler.scale if learner.scaler else 1.0
        losses = [self._backward(batch, scale) for _, batch in group]
        _, count = _sums(losses)
        return losses, _scaled(learner.model, 1.0 / (max(count, 1) * scale), self.settings.clip)

    def _backward(self, batch: B, scale: float) -> Loss:
        with ExitStack() as inside:
            inside.enter_context(self._compiled())
            inside.enter_context(narrowed(self._dtype, self.learner.model))
            loss = self.learner.loss(batch)
        if loss.total.requires_grad:
            (loss.total * scale if scale != 1.0 else loss.total).backward()
        return loss

    def _apply(self, rate: float) -> None:
        learner = self.learner
        optimizers.apply_rate(learner.optimizer, rate)
        learner.optimizer.step()
        if learner.scaler:
            learner.scaler.fitted()
        if learner.ema and self.settings.ema:
            learner.ema.update(learner.model, self.settings.ema)

    def _not_finite(
        self, after: Progress, group: list[tuple[Position, B]], losses: list[Loss], norm: float
    ) -> NotFinite:
        total, _ = _sums(losses)
        place = ", ".join(map(str, after.position))
        return NotFinite(
            f"Update {after.update} (data up to {place}): loss {total}, gradient norm {norm}. Nothing was "
            f"changed.{self._examples(group, losses)} Lower the rate, lengthen the warm-up, or set nonfinite = 'skip' "
            "to leave such batches out."
        )

    def _examples(self, group: list[tuple[Position, B]], losses: list[Loss]) -> str:
        """A sentence with the examples of the batches whose loss is no number, or of all if only a gradient is none."""
        describe = self.learner.describe
        if describe is None:
            return ""
        bad = [batch for (_, batch), loss in zip(group, losses, strict=True) if not loss.total.isfinite()]
        told = "; ".join(describe(batch) for batch in bad or [batch for _, batch in group])
        return f" The examples: {told}."


def _still(model: nn.Module) -> list[nn.Module]:
    """Frozen modules that keep something of every batch, as batch norm does; what is frozen keeps nothing more."""
    keeping = [module for module in model.modules() if list(module.buffers(recurse=False))]
    own = [(module, list(module.parameters(recurse=False))) for module in keeping]
    return [module for module, held in own if held and not any(parameter.requires_grad for parameter in held)]


def _sums(losses: list[Loss]) -> tuple[float, int]:
    """The loss of a group, and its targets."""
    return float(sum(loss.total.detach() for loss in losses)), int(sum(loss.count for loss in losses))


def _scaled(model: nn.Module, share: float, clip: float | None) -> float:
    """Turn gradients of a scaled sum into those of a mean, clipped at a norm, in one pass; the norm before clipping."""
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients: list[Tensor] = [parameter.grad for parameter in learning if parameter.grad is not None]
    if not gradients:
        raise DataError("A batch without a single target; there is nothing to learn from it.")
    norm = float(torch.nn.utils.get_total_norm(gradients)) * share
    factor = share if clip is None or norm <= clip else share * clip / norm
    torch._foreach_mul_(gradients, factor)
    return norm
