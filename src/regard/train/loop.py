"""The loop: a generator that makes one update at a time and tells what came of it.

It knows modules and functions. Whoever iterates logs, draws and saves; whatever it needs to go on after a stop is in
`Progress` (plain numbers) and in the tensors `Learner.checkpoint` gathers.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from regard.errors import DataError
from regard.train.distributed import Spare, Team
from regard.train.learner import Learner
from regard.train.progress import Ending, Position, Progress, Step
from regard.train.settings import FitSettings
from regard.train.updating import NotFinite, Updater

__all__ = ["FitSettings", "Learner", "NotFinite", "Position", "Progress", "Step", "fit"]

B = TypeVar("B")


def fit(
    learner: Learner[B],
    batches: Iterable[tuple[Position, B | Spare[B]]],
    evaluate: Callable[[], Mapping[str, float]],
    settings: FitSettings,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Step]:
    """Updates until there are enough, until patience or time ends, until the data do, or until `stop` says so.

    `batches` gives each batch with the data's position after it, from where `progress` stands. A run ended by `stop`
    or by `minutes` is not evaluated once more: resumed, it is the run that was never stopped.
    """
    progress = progress or Progress()
    began = time.monotonic()
    updater = Updater(learner, settings)
    coming = iter(batches)
    ending = _ended(progress, settings)
    while ending is None:
        group = list(islice(coming, settings.accumulate))
        if not group:
            return
        step = updater.update(group, progress)
        complete = _complete(step.progress, settings) is not None
        if complete or step.progress.update % settings.every == 0:
            updater.require_numbers(step.progress)
            step = _judged(step, _scores(learner, evaluate), settings)
        if complete or step.progress.update % settings.log == 0:
            step = _told(step)
        progress = step.progress
        ending = _ended(progress, settings) or _interrupted(began, settings, stop, learner.team)
        if ending is not None:
            updater.require_numbers(progress)
        yield replace(step, last=ending is not None, ending=ending)


def _complete(progress: Progress, settings: FitSettings) -> Ending | None:
    """Whether the run is as long as it was to be."""
    if progress.update >= settings.updates:
        return "updates"
    return "epochs" if settings.epochs is not None and progress.epoch >= settings.epochs else None


def _ended(progress: Progress, settings: FitSettings) -> Ending | None:
    impatient = settings.patience is not None and progress.waited >= settings.patience
    return _complete(progress, settings) or ("patience" if impatient else None)


def _interrupted(began: float, settings: FitSettings, stop: Callable[[], bool] | None, team: Team) -> Ending | None:
    """Whether this sitting ends here, as soon as any process wants it to."""
    late = settings.minutes is not None and time.monotonic() - began >= 60.0 * settings.minutes
    asked = stop is not None and stop()
    return (None, "minutes", "stop")[team.most(2 if asked else int(late))]


def _scores(learner: Learner[B], evaluate: Callable[[], Mapping[str, float]]) -> Mapping[str, float]:
    with learner.smoothed():
        scores = evaluate()
    learner.model.train()
    return scores


def _judged(step: Step, scores: Mapping[str, float], settings: FitSettings) -> Step:
    """The step with its scores, and whether it is the best so far."""
    if settings.watch not in scores:
        raise DataError(f"watch = {settings.watch!r} is none of the scores there are: {', '.join(sorted(scores))}.")
    score, progress = scores[settings.watch], step.progress
    better = _better(score, progress.best, settings.higher)
    if better:
        progress = replace(progress, best=score, best_update=progress.update, waited=0)
    else:
        progress = replace(progress, waited=progress.waited + 1)
    return replace(step, progress=progress, scores=dict(scores), best=better)


def _better(score: float, best: float | None, higher: bool) -> bool:
    """Whether a score beats the best so far; one that is no number never does."""
    if math.isnan(score) or best is None:
        return not math.isnan(score)
    return score > best if higher else score < best


def _told(step: Step) -> Step:
    """The step with the loss since the log was last told, and the count begun anew."""
    progress = step.progress
    recent = progress.recent_total / progress.recent_count if progress.recent_count else None
    return replace(step, recent=recent, progress=replace(progress, recent_total=0.0, recent_count=0))
