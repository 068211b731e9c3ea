"""One update: losses, gradients, clipping, and what to do when they are no numbers."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from regard.attention.kernels import flash_by
from regard.errors import ConfigError, DataError, RegardError
from regard.nn.losses import Loss
from regard.nn.native.attending import attending
from regard.nn.native.multiplying import Multiplied
from regard.train import distributed_sharding as sharding
from regard.train import optimizers
from regard.train.compiling import Compiled
from regard.train.distributed import Spare
from regard.train.distributed_gradients import Buckets
from regard.train.ema import Ema
from regard.train.learner import Learner
from regard.train.precision import Scaler, chosen, narrowed
from regard.train.progress import Position, Progress, Step
from regard.train.recomputing import Recomputed
from regard.train.settings import FitSettings

B = TypeVar("B")


class NotFinite(RegardError):
    """A loss or gradient that is no number; nothing was changed by it."""


@dataclass(frozen=True)
class Made:
    """What a group of batches came to: this process's losses; of all processes the loss, its targets, the norm."""

    losses: list[Loss]
    total: float
    count: int
    norm: float


class Updater(Generic[B]):
    """Makes a learner's updates as the settings ask."""

    def __init__(self, learner: Learner[B], settings: FitSettings) -> None:
        self.learner, self.settings = learner, settings
        self._summing: Callable[[], AbstractContextManager[None]] = nullcontext
        if learner.team.size > 1:
            _check_separable(learner.model)
            self._summing = _summing(learner)
        self._dtype = chosen(settings.precision, learner.model)
        self._still = _still(learner.model)
        # What modules note down while they compute, such as the running statistics of batch norm.
        self._notes = list(learner.model.buffers())
        self._compiled: Callable[[], AbstractContextManager[None]] = nullcontext
        if settings.compile:
            self._compiled = Compiled(learner.model, settings.compile).used
        # What is compiled has products of its own.
        self._multiplied: Callable[[], AbstractContextManager[None]] = (
            nullcontext if settings.compile else Multiplied(learner.model).used
        )
        self._recomputed: Callable[[], AbstractContextManager[None]] = nullcontext
        if settings.recompute:
            self._recomputed = Recomputed(learner.model).used
        if self._dtype is torch.float16 and learner.scaler is None:
            learner.scaler = Scaler()
        if settings.ema is None:
            learner.ema = None
        elif learner.ema is None:
            learner.ema = Ema(learner.model)

    def update(self, group: list[tuple[Position, B | Spare[B]]], progress: Progress) -> Step:
        """One update from all batches of a group, each weighed by its targets: however they are split, the same."""
        with self._multiplied(), flash_by(attending):
            return self._update(group, progress)

    def _update(self, group: list[tuple[Position, B | Spare[B]]], progress: Progress) -> Step:
        after = replace(progress, update=progress.update + 1, position=group[-1][0])
        before = [note.detach().clone() for note in self._notes]
        made = self._gradients(group, after.update)
        rate = self.learner.schedule.rate(after.update)
        scaler = self.learner.scaler
        applied = math.isfinite(made.total) and math.isfinite(made.norm)
        if not applied:
            self._restore(before)
        if applied:
            self._apply(rate)
            after = after.seen(made.total, made.count)
        elif math.isfinite(made.total) and scaler and not scaler.lowest:
            scaler.overflowed()
            after = replace(after.seen(made.total, made.count), overflowed=after.overflowed + 1)
        elif self.settings.nonfinite == "skip":
            after = replace(after, skipped=after.skipped + 1)
        else:
            raise self._not_finite(after, group, made)
        return Step(after, made.total / max(made.count, 1), made.count, rate, made.norm)

    def require_numbers(self, progress: Progress) -> None:
        """Refuses parameters that are no numbers, which a finite gradient at a huge rate can leave behind; asked
        before anything is measured or saved."""
        parameters = self.learner.model.named_parameters()
        bad = next((name for name, each in parameters if not sharding.own_part(each.detach()).isfinite().all()), "")
        if self.learner.team.most(bool(bad)):
            told = f", such as {bad}" if bad else ""
            raise NotFinite(
                f"Update {progress.update} left parameters that are no numbers{told}. It is not saved; what was saved "
                "before stays. Lower the rate, or lengthen the warm-up."
            )

    def _gradients(self, group: list[tuple[Position, B | Spare[B]]], update: int) -> Made:
        """The losses of a group, and the norm of the mean's gradient, which the parameters now hold clipped."""
        learner = self.learner
        learner.team.reseed(update)
        learner.model.train()
        for module in self._still:
            module.training = False
        learner.optimizer.zero_grad()
        scale = learner.scaler.scale if learner.scaler else 1.0
        *earlier, last = [batch for _, batch in group]
        with learner.team.together():
            losses = [self._backward(batch, scale) for batch in earlier]
            with self._summing():
                losses.append(self._backward(last, scale))
        total, count = learner.team.sum(_sums(losses))
        norm = _scaled(learner.model, 1.0 / (max(count, 1) * scale), self.settings.clip)
        return Made(losses, total, int(count), norm)

    def _backward(self, batch: B | Spare[B], scale: float) -> Loss:
        with ExitStack() as inside:
            inside.enter_context(self._compiled())
            inside.enter_context(self._recomputed())
            inside.enter_context(narrowed(self._dtype, self.learner.model))
            loss = _nothing(self.learner.loss(batch.batch)) if isinstance(batch, Spare) else self.learner.loss(batch)
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

    def _restore(self, before: list[Tensor]) -> None:
        """What was noted down, as it was: one bad batch must not stay in running statistics for good."""
        for note, old in zip(self._notes, before, strict=True):
            note.copy_(old)

    def _not_finite(self, after: Progress, group: list[tuple[Position, B | Spare[B]]], made: Made) -> NotFinite:
        place = ", ".join(map(str, after.position))
        return NotFinite(
            f"Update {after.update} (data up to {place}): loss {made.total}, gradient norm {made.norm}. Nothing was "
            f"changed.{self._examples(group, made.losses)} Lower the rate, lengthen the warm-up, or set nonfinite = "
            "'skip' to leave such batches out."
        )

    def _examples(self, group: list[tuple[Position, B | Spare[B]]], losses: list[Loss]) -> str:
        """A sentence with the examples of the batches whose loss is no number, or of all if only a gradient is none."""
        describe = self.learner.describe
        if describe is None:
            return ""
        batches = [batch.batch if isinstance(batch, Spare) else batch for _, batch in group]
        bad = [batch for batch, loss in zip(batches, losses, strict=True) if not loss.total.isfinite()]
        told = "; ".join(describe(batch) for batch in bad or batches)
        return f" The examples: {told}."


def _still(model: nn.Module) -> list[nn.Module]:
    """Frozen modules that keep something of every batch, as batch norm does; what is frozen keeps nothing more."""
    keeping = [module for module in model.modules() if module._buffers.keys() - module._non_persistent_buffers_set]
    own = [(module, list(module.parameters(recurse=False))) for module in keeping]
    return [module for module, held in own if held and not any(parameter.requires_grad for parameter in held)]


def _summing(learner: Learner[B]) -> Callable[[], AbstractContextManager[None]]:
    """What sums gradients over all processes, around an update's last backward."""
    if sharding.sharded(learner.model):
        return partial(sharding.summing, learner.model)
    learner.team.alike(learner.model)
    return Buckets(learner.model, learner.team).summing


def _check_separable(model: nn.Module) -> None:
    """Refuse what makes one text's output depend on others of its batch, of which a process sees only some."""
    for name, module in model.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and any(p.requires_grad for p in module.parameters()):
            raise ConfigError(
                f"{name} is a batch norm: its output depends on the whole batch, of which each process has a part. "
                "Use norm = 'layer' or 'rms', freeze it, or train with one process."
            )


def _nothing(loss: Loss) -> Loss:
    """The loss, counted as none."""
    return Loss(loss.total * 0.0, loss.count * 0, loss.nll * 0.0)


def _sums(losses: list[Loss]) -> tuple[float, float]:
    """The loss of a group, and its targets."""
    return float(sum(loss.total.detach() for loss in losses)), float(sum(loss.count for loss in losses))


def _scaled(model: nn.Module, share: float, clip: float | None) -> float:
    """Turn gradients of a scaled sum into those of a mean, clipped at a norm, in one pass; the norm before clipping."""
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients: list[Tensor] = [parameter.grad for parameter in learning if parameter.grad is not None]
    if not gradients:
        raise DataError("A batch without a single target; there is nothing to learn from it.")
    norm = float(sharding.whole(torch.nn.utils.get_total_norm(gradients))) * share
    factor = share if clip is None or norm <= clip else share * clip / norm
    torch._foreach_mul_(gradients, factor)
    return norm
