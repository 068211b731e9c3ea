"""How much memory the largest batch takes, and how long the run will."""

import math
import resource
import sys
import time
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64

from regard.api.preflight.report import Notes
from regard.api.training import Training
from regard.data import Batch, Position
from regard.train import Progress
from regard.train.updating import Updater

# Updates are timed until there are so many, or so many seconds have gone by.
TIMED, SECONDS = 10, 8.0


def look_at_speed(run: Training, notes: Notes) -> None:
    """The largest batch's memory, then a few real updates and one validation, against the clock."""
    parameters = sum(each.numel() for each in run.model.parameters())
    updater = Updater(run.learner, run.settings)
    notes.facts["parameters"] = parameters
    _look_at_largest(run, updater, notes)
    seconds = _seconds(run, updater)
    began = time.perf_counter()
    run.evaluate()
    judging = time.perf_counter() - began
    updates = notes.facts["updates"]
    minutes, judged = updates * seconds / 60, -(-updates // run.settings.every) * judging / 60
    notes.facts |= {"updates_per_second": 1 / seconds, "minutes": minutes, "minutes_judging": judged}
    notes.add(
        "ok",
        "speed",
        f"{parameters:,} parameters; {1 / seconds:.2f} updates a second on {run.device}, so {updates:,} take about "
        f"{_minutes(minutes)}, and validation loss {_minutes(judged)} more. Search for validation metrics is not "
        "counted: how long outputs are is not known before a model has learned to end them.",
    )
    _look_at_limit(run, minutes + judged, notes)


def _minutes(minutes: float) -> str:
    return f"{minutes:.0f} minutes" if minutes >= 2 else f"{60 * minutes:.0f} seconds"


def _look_at_limit(run: Training, minutes: float, notes: Notes) -> None:
    limit = run.settings.minutes
    if limit is not None and minutes > limit:
        told = f"train.minutes = {limit:g} ends a sitting before the run's end, after about {minutes:.0f}"
        notes.add("note", "minutes", f"{told}; go on each time with --resume.")


def _look_at_largest(run: Training, updater: Updater[Any], notes: Notes) -> None:
    examples = largest(run)
    lengths = [tuple(map(len, run.stores.train[number].values())) for number in examples.tolist()]
    before = memory(run.device)
    updater.update([((0,), run.taken(Batch(examples, Position())))], Progress())
    after = memory(run.device)
    notes.facts |= {"memory_megabytes": round(after), "largest_rows": len(examples)}
    widest = " + ".join(str(max(column)) for column in zip(*lengths, strict=True))
    told = f"the largest batch, {len(examples)} examples of {widest} pieces, went through"
    notes.add("ok", "memory", f"{told}; peak {after:.0f} MB, {after - before:.0f} MB more than before it.")


def largest(run: Training) -> Int64[np.ndarray, " B"]:
    """The examples of the batch with the most pieces, padding included, in the first epoch."""
    tables = np.concatenate(run.stores.train.lengths).astype(np.int64)
    batches = [batch for window in range(run.batches.windows) for batch in run.batches.plan(0, window).batches]
    return max(batches, key=lambda batch: len(batch) * int(tables[batch].max(0).sum()))


def memory(device: torch.device) -> float:
    """The most memory there was in use so far, in MB: of the GPU, or of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)


def _seconds(run: Training, updater: Updater[Any]) -> float:
    """Seconds an update takes, over a few real ones."""
    walk = run.walk(())
    taken: list[float] = []
    began = time.perf_counter()
    while len(taken) < TIMED and time.perf_counter() - began < SECONDS:
        group = list(islice(walk, run.settings.accumulate))
        start = time.perf_counter()
        updater.update(group, Progress())
        taken.append(time.perf_counter() - start)
    return max(math.fsum(taken) / len(taken), 1e-9)
