"""One look after the other, each as far as those before it allow."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.api.preflight.batches import look_at_batches, look_at_schedule
from regard.api.preflight.overlap import look_at_overlap, look_at_sides
from regard.api.preflight.pieces import look_at_lengths, look_at_pieces, look_at_tokenizers
from regard.api.preflight.report import Notes, Report
from regard.api.preflight.running import look_at_run
from regard.api.preflight.settings import look_at_metrics, look_at_settings
from regard.api.preflight.speed import look_at_speed
from regard.api.preflight.texts import Texts, look_at_files
from regard.api.rehearsal import stored, undisturbed
from regard.api.training import Training
from regard.api.unseen import unseen
from regard.tasks import TASKS, Recipe, Task


def preflight(recipe: Recipe, tell: Callable[[str], None] = lambda _: None) -> Report:
    """All that can be known of a run before it is made; `tell` hears each finding as it is made."""
    notes = Notes(tell)
    with TemporaryDirectory(prefix="regard-preflight-") as folder, undisturbed():
        look_at_settings(recipe, notes)
        texts = look_at_files(recipe, notes)
        if texts is not None:
            look_at_overlap(recipe, texts, notes)
            if TASKS[recipe.task].two_sides:
                look_at_sides(texts, notes)
            look_at_metrics(recipe, texts, notes)
        if texts is not None and not notes.failed:
            _fly(recipe, texts, Path(folder), notes)
        elif notes.failed:
            notes.add("note", "stopped", "No tokenizer was learned and nothing run; mend the errors and look again.")
    return notes.report()


def _fly(recipe: Recipe, texts: Texts, folder: Path, notes: Notes) -> None:
    """What only the real parts can tell: tokenizers, batches, and a run in small."""
    run = Training(_sampled(recipe, texts, folder), folder / "whole")
    run.folder.mkdir()
    with notes.watching("tokenizer"):
        look_at_tokenizers(run.task, texts, notes)
    with notes.watching("data"):
        if not notes.failed:
            look_at_labels(run.task, texts, notes)
    with notes.watching("pieces"):
        if not notes.failed:
            look_at_pieces(run, notes)
            look_at_lengths(run, notes)
    with notes.watching("batches"):
        if not notes.failed:
            look_at_batches(run, texts, notes)
            look_at_schedule(run, texts, notes)
    with notes.watching("speed"):
        if not notes.failed:
            look_at_speed(run, notes)
    with notes.watching("run"):
        if not notes.failed:
            look_at_run(recipe, run, texts, folder / "small", notes)


def look_at_labels(task: Task, texts: Texts, notes: Notes) -> None:
    """What is odd about the data as a whole, and what held-out data have that training never had."""
    for remark in task.remarks(chain.from_iterable(texts.trained), texts.validated):
        notes.add("warning", "data", remark)
    for name, rows in texts.held_out.items():
        if found := unseen(task, rows):
            notes.add("warning", "data", f"{name}: {found}.")


def _sampled(recipe: Recipe, texts: Texts, folder: Path) -> Recipe:
    """The recipe, judged by its loss alone; on the lines that were read where those are not all of them."""
    quiet = recipe.validation.model_copy(update={"metrics": ()})
    watching = recipe.train.model_copy(update={"watch": "loss", "higher": False})
    changes: dict[str, Any] = {"validation": quiet, "train": watching}
    if texts.share < 1:
        corpora = zip(recipe.data.train, texts.train, strict=True)
        train = tuple(
            stored(folder / f"train-{number}.jsonl", settings, rows) for number, (settings, rows) in enumerate(corpora)
        )
        changes["data"] = recipe.data.model_copy(update={"train": train, "cleaning": ()})
    return recipe.model_copy(update=changes)
