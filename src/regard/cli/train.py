"""`regard train`."""

import signal
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import Changes, Extensions, Json, RecipeName, join
from regard.cli.printing import next_commands, printed, say, scored, typed

if TYPE_CHECKING:
    from regard.api import Pipeline, Training
    from regard.cli.progress import Watcher
    from regard.train import Step, Stopping


def train(
    recipe: RecipeName,
    changes: Changes,
    extensions: Extensions,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Folder of the run; runs/ and the recipe's name if not said.", show_default=False
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run if there is one.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model; the run and its bundle are kept in one folder.

    A run that was stopped or killed goes on where it stood, to the same
    parameters as if it had never stopped: name its folder.

    \b
    Examples:
      regard train my.toml
      regard train multi30k-en-de --out runs/small --set model.width=64
      regard train runs/small                           go on with it
      regard train runs/small --set train.updates=20000   and for longer
    """
    from regard.api import Training, read
    from regard.cli.progress import watcher
    from regard.train import Stopping

    join(extensions)
    folder, resume = _place(recipe, out, resume)
    settings = read(recipe, changes)
    stop = Stopping()
    watching = watcher(as_json, settings.train, stop)
    training = Training(settings, folder, resume, watching.note)
    again = typed("train", folder, *(word for path in extensions for word in ("--extend", path)))
    try:
        last, made = _made(training, stop, watching)
    except KeyboardInterrupt:
        _interrupted(folder, again)
        raise typer.Exit(128 + signal.SIGINT) from None
    if made is not None:
        _finished(training, made, as_json)
    elif last is not None:
        _stopped(last, again, as_json)
        raise typer.Exit(128 + stop.signal if stop.signal else 0)


def _place(recipe: str, out: Path | None, resume: bool) -> tuple[Path, bool]:
    """The run's folder and whether it goes on: a recipe that is a run goes on where it is."""
    given = Path(recipe)
    if given.is_dir():
        return (given, True) if out is None or out == given else (out, resume)
    return out or Path("runs") / given.stem, resume


def _made(training: "Training", stop: "Stopping", watching: "Watcher") -> tuple["Step | None", "Pipeline | None"]:
    """The last update, and the model unless the run is to go on another time."""
    last = None
    with ExitStack() as inside:
        inside.enter_context(watching.shown())
        for step in training.steps(stop):
            if last is None:
                # Not before: until there is an update to save, Ctrl-C stops at once.
                inside.enter_context(stop)
            watching.step(step, training.planned)
            last = step
        if last is not None and last.ending in ("minutes", "stop"):
            return last, None
        watching.note("Measuring the model on validation and saving it.")
        return last, training.finish()


def _finished(training: "Training", made: "Pipeline", as_json: bool) -> None:
    folder = training.folder
    commands = [typed("predict", folder)]
    commands += [typed("evaluate", folder)] if made.recipe.data.test else []
    if as_json:
        printed({"kind": "done", "scores": made.scores, "bundle": str(folder / "bundle"), "next": commands})
        return
    for name, scores in made.scores.items():
        typer.echo("validation" if name == "valid" else name)
        scored(scores)
    typer.echo(f"The model is in {folder / 'bundle'}, how it learned in {folder / 'curve.png'}.")
    next_commands("Next:", commands)


def _stopped(last: "Step", again: str, as_json: bool) -> None:
    update, why = last.progress.update, "the minutes are over" if last.ending == "minutes" else "as asked"
    if as_json:
        printed({"kind": "stopped", "ending": last.ending, "update": update, "next": [again]})
        return
    typer.echo(f"Stopped after update {update:,}, {why}; all of it is saved.")
    next_commands("To go on:", [again])


def _interrupted(folder: Path, again: str) -> None:
    if (folder / "recipe.toml").exists():
        say(f"Interrupted. To go on from the last checkpoint:\n  {again}")
    else:
        say("Interrupted before anything was done.")
