"""A demo from the first written line to the next command to type."""

import os
import shutil
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from regard.api import Materials, Pipeline, Training, read
from regard.demo import translation
from regard.demo.kinds import DEMOS, SIZES
from regard.errors import ConfigError, DataError, unknown
from regard.files import shown

SHOWN, WIDE, WORDS = 4, 160, 6


def run(out: Path, seed: int, task: str = "translation", pair: str = "en-de", changes: tuple[str, ...] = ()) -> None:
    """Write the corpus, train, measure on what was never seen, show, and say what to type next."""
    if task not in ("translation", *DEMOS):
        raise ConfigError(unknown("demo", task, ("translation", *DEMOS)))
    if pair not in translation.EXAMPLES:
        raise ConfigError(unknown("pair", pair, translation.EXAMPLES))
    console, began = Console(), time.monotonic()
    folder = _fresh(out / (pair if task == "translation" else task))
    if task == "translation":
        console.print(translation.write(folder / "data", seed, pair))
        recipe, line = translation.recipe(pair, folder / "data", seed), "Maria rode a bike with her aunt on Friday."
    else:
        demo = DEMOS[task]
        demo.write(task, folder / "data", seed)
        recipe, line = demo.recipe(folder / "data", seed), demo.line
        console.print(f"{SIZES[task][0]:,} {demo.corpus} are in {folder / 'data'}.")
    model = _trained(Training(read(recipe, changes), folder / "run", tell=console.print), console)
    _measured(model, began, console)
    if task == "translation":
        translation.show(model, pair, folder, console)
    else:
        console.print(_examples(model))
    console.print("Next, type:")
    for command in following(shown(folder / "run"), line):
        console.print(f"  {command}", highlight=False, soft_wrap=True)


def _trained(training: Training, console: Console) -> Pipeline:
    for step in training.steps():
        if step.scores:
            done = f"{step.progress.update:>5} of {training.planned} updates"
            console.print(f"  {done}   loss {step.recent or step.loss:.3f}   on validation {step.scores['loss']:.3f}")
    return training.finish()


def _measured(model: Pipeline, began: float, console: Console) -> None:
    corpus = Materials(model.recipe).test("test")
    scores = list(model.evaluate(corpus).scores.values())
    told = ", ".join(f"{_called(one.name)} [bold]{one.value:.1f}[/bold]" for one in scores)
    seconds = time.monotonic() - began
    on = f"On {corpus.counts.kept} rows made of combinations it never saw"
    console.print(f"{on}: {told} ({seconds:.0f} s in all).", soft_wrap=True)
    console.print(f"[dim]{scores[0].signature}[/dim]")


def _called(name: str) -> str:
    return "BLEU" if name == "bleu" else name.replace("_", " ")


def _examples(model: Pipeline) -> Table:
    """What the model makes of the first rows it never saw, beside what is right."""
    rows = [row.fields for row, _ in zip(Materials(model.recipe).test("test"), range(SHOWN), strict=False)]
    if model.task.inputs() == model.task.fields:
        return _continued(model, [next(iter(row.values())) for row in rows])
    table = Table("given", "what the model makes of it", "right")
    given = [model.asked(row) for row in rows]
    for asked, result, row in zip(given, model.predict(given), rows, strict=True):
        shown = "\n".join(map(_short, asked.values()))
        table.add_row(shown, result.text, model.references(row)[0], end_section=True)
    return table


def _continued(model: Pipeline, texts: list[str]) -> Table:
    """What the model writes on the first words of texts."""
    table = Table("begun", "how the model goes on")
    begun = [" ".join(text.split()[:WORDS]) for text in texts]
    for text, result in zip(begun, model.predict(begun), strict=True):
        table.add_row(text, result.text, end_section=True)
    return table


def _short(text: str) -> str:
    return text if len(text) <= WIDE else f"{text[: WIDE // 2]} ... {text[-WIDE // 2 :]}"


def following(run: str, line: str) -> list[str]:
    """The commands to type next, with the command's path where it is not on the path."""
    regard = "regard" if shutil.which("regard") else os.path.relpath(Path(sys.executable).with_name("regard"))
    said = line.replace("\t", "\\t")
    echo = f'echo "{line}"' if said == line else f"printf '{said}\\n'"
    return [
        f"{echo} | {regard} predict {run}",
        f"{regard} evaluate {run}",
        f"{regard} inspect {run}",
        f"{regard} recipes",
    ]


def _fresh(folder: Path) -> Path:
    """The demo's folder without what an earlier demo left in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / "run", ignore_errors=True)
    except OSError as error:
        raise DataError(f"Cannot write {folder}: {error.strerror}; give another folder with --out.") from None
    return folder
