"""Batches and the schedule over them: how many, how much padding, how long the warm-up."""

from regard.api.preflight.report import Notes
from regard.api.preflight.texts import Texts
from regard.api.training import Training
from regard.config import make
from regard.train import SCHEDULES, FitSettings

WASTE = 0.3
# A rate below which models hardly move.
SLOW = 5e-6
# The last part of a run, from which parameters can be averaged.
LATE = 0.6


def look_at_batches(run: Training, texts: Texts, notes: Notes) -> None:
    """What an epoch comes to."""
    report = run.batches.report()
    rows, batches = report.examples / max(report.batches, 1), round(report.batches / texts.share)
    notes.facts |= {"batches": batches, "waste": report.waste}
    told = f"{batches:,} batches an epoch of about {rows:.0f} examples, {report.waste:.1%} of it padding"
    if report.waste > WASTE:
        notes.add("warning", "batches", f"{told}: much of the work is for nothing; raise batches.tokens or window.")
    else:
        notes.add("ok", "batches", f"{told}.")
    if report.oversized:
        notes.add(
            "warning",
            "batches",
            f"{report.oversized:,} examples alone have more than batches.tokens = {run.recipe.batches.tokens}; each is "
            "a batch of its own. Raise batches.tokens, or set batches.longest to leave them out.",
        )


def planned(run: Training, texts: Texts) -> int:
    """The updates the whole run comes to."""
    return run.settings.planned(round(run.batches.report().batches / texts.share))


def look_at_schedule(run: Training, texts: Texts, notes: Notes) -> None:
    """Whether the warm-up ends before the run does, and how often the run is judged."""
    updates, settings = planned(run, texts), run.settings
    notes.facts["updates"] = updates
    epochs = updates * settings.accumulate / max(notes.facts["batches"], 1)
    told = f"{updates:,} updates, {epochs:.1f} epochs"
    chosen = run.recipe.optimizer
    schedule = make("schedule", SCHEDULES, chosen.schedule, chosen.rate, updates)
    warm = schedule.warm_up
    if warm >= updates:
        notes.add(
            "warning",
            "schedule",
            f"{told}, but warm_up = {warm:,}: the run ends before the rate is reached. Lower "
            "optimizer.schedule.warm_up, or train longer.",
        )
    elif warm > updates / 2:
        notes.add("note", "schedule", f"{told}, of which {warm:,} to warm up: more than half.")
    else:
        notes.add("ok", "schedule", f"{told}, {warm:,} of them to warm up.")
    if schedule.peak < SLOW:
        notes.add(
            "warning",
            "rate",
            f"optimizer.rate = {chosen.rate:g} by the schedule {chosen.schedule} comes to {schedule.peak:.1e} at most, "
            "which teaches next to nothing. Raise optimizer.rate; the schedule paper wants about 1.",
        )
    _look_at_evaluations(updates, settings.every, notes)
    _look_at_average(updates, settings, notes)


def _look_at_evaluations(updates: int, every: int, notes: Notes) -> None:
    if every >= updates:
        notes.add(
            "warning",
            "validation",
            f"train.every = {every:,} is not below the {updates:,} updates of the run: it is judged and saved only at "
            "its end. Lower train.every to keep the best of several.",
        )
    else:
        notes.add("ok", "validation", f"judged and saved every {every:,} updates, about {-(-updates // every)} times.")


def _look_at_average(updates: int, settings: FitSettings, notes: Notes) -> None:
    """Whether the parameters to be averaged are all from the end of the run."""
    average = settings.average
    if average is None or average.what == "best" or settings.every >= updates:
        return
    span = (average.count - 1) * settings.every
    if span > LATE * updates:
        first = max(updates - span, settings.every)
        notes.add(
            "warning",
            "average",
            f"train.average takes the last {average.count} evaluated updates, from update {first:,} of {updates:,} on: "
            "early parameters make it worse than the last ones alone. Lower train.every or train.average.count.",
        )
