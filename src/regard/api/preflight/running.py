"""A run in small: every step from the first update to a prediction, with the real model and parts."""

from pathlib import Path

from regard.api.materials import First, Stores
from regard.api.pipeline import Pipeline
from regard.api.preflight.report import Notes
from regard.api.preflight.texts import Texts
from regard.api.rehearsal import LINES, hurried, stored
from regard.api.training import Training
from regard.data import Examples, prepare
from regard.errors import DataError
from regard.files import write_atomically
from regard.tasks import Recipe

UPDATES = 4
SAVED = UPDATES // 2


def look_at_run(recipe: Recipe, whole: Training, texts: Texts, folder: Path, notes: Notes) -> None:
    """Update, validate, save, load, resume, predict; the tokenizers and training examples are those of `whole`."""
    small = _small(recipe, whole, texts, folder)
    _started(small, whole, folder / "run")
    made = _resumed(small, whole, folder / "run")
    loaded = Pipeline.load(folder / "run", verify=True)
    rows = [*map(loaded.asked, texts.valid[:LINES]), dict.fromkeys(loaded.task.inputs(), "")]
    results = loaded.predict(rows)
    if len(results) != len(rows):
        raise DataError(f"{len(rows)} lines in, {len(results)} out; report this.")
    told = ", ".join(made.scores["valid"]) or "loss"
    notes.add(
        "ok",
        "run",
        f"{UPDATES} updates, judged ({told}), saved, left and resumed after update {SAVED}, bundled, loaded, golden "
        f"outputs made again, {len(rows)} lines in and {len(results)} out.",
    )


def _small(recipe: Recipe, whole: Training, texts: Texts, folder: Path) -> Recipe:
    """The recipe for a few updates, judged on a few lines."""
    folder.mkdir()
    valid = stored(folder / "valid.jsonl", recipe.data.valid, texts.valid[:LINES])
    data = whole.recipe.data.model_copy(update={"valid": valid, "test": {}})
    return hurried(recipe.model_copy(update={"data": data}), UPDATES)


def _started(small: Recipe, whole: Training, folder: Path) -> None:
    """A run left without a word after an update that was not saved."""
    folder.mkdir()
    for name, text in whole.task.files().items():
        with write_atomically(folder / name) as file:
            file.write(text.encode())
    for step in _training(small, whole, folder).steps():
        if step.progress.update > SAVED:
            return
    raise DataError(f"The run ended before update {SAVED + 1}; there are not enough data.")


def _resumed(small: Recipe, whole: Training, folder: Path) -> Pipeline:
    training = _training(small, whole, folder)
    updates = [step.progress.update for step in training.steps()]
    if updates != list(range(SAVED + 1, UPDATES + 1)):
        raise DataError(f"A run left after update {SAVED} went on with updates {updates}; report this.")
    return training.finish()


def _training(small: Recipe, whole: Training, folder: Path) -> Training:
    """A run that need not prepare what is prepared."""
    training = Training(small, folder, resume=True)
    training.stores = Stores(whole.stores.each, whole.stores.train, _valid(training))
    return training


def _valid(training: Training) -> Examples:
    task, corpus = training.task, training.materials.valid
    rows = First(corpus, task.fields[-1], training.recipe.data.references)
    return task.examples(prepare(training.folder / "valid", rows, task.encoding(corpus.settings.languages)))
