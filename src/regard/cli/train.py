"""`regard train`."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.loading import loading
from regard.cli.options import Changes, Extensions, Json, RecipeName, join
from regard.cli.printing import next_commands, printed, say, scored, typed
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.api import Pipeline, Training
    from regard.cli.progress import Watcher
    from regard.tasks import Recipe
    from regard.train import Step, Stopping
    from regard.train.allocation import Hoard

# Seconds in which torchrun surely ends a process whose first one has failed.
MOMENT = 3.0


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
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="Train with so many processes, one a GPU or a few cores each.", show_default=False),
    ] = None,
    restarts: Annotated[
        int, typer.Option(min=0, help="With --processes: start again so often when a process dies.")
    ] = 0,
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
      regard train my.toml --processes 4 --restarts 3
    """
    with loading():
        from regard.api import read
        from regard.train import Stopping

    stop = Stopping()
    with _one_voice(stop):
        join(extensions)
        folder, resume = _place(recipe, out, resume)
        settings = read(recipe, changes)
        if processes is not None:
            flags = ["--resume"] * resume + ["--json"] * as_json
            raise typer.Exit(
                _started(recipe, folder, [*_set(changes), *_extended(extensions), *flags], processes, restarts)
            )
        _trained(settings, folder, resume, as_json, stop, extensions)


def _trained(
    settings: "Recipe", folder: Path, resume: bool, as_json: bool, stop: "Stopping", extensions: Sequence[Path]
) -> None:
    """Make the run here, and say what came of it."""
    from regard.api import Training
    from regard.cli.progress import watcher
    from regard.train.allocation import Hoard, keep_freed
    from regard.train.distributed import leading

    hoard = Hoard() if settings.train.keep_memory and keep_freed() else None
    watching = watcher(as_json, settings.train, stop) if leading() else Silent()
    training = Training(settings, folder, resume, watching.note, len(os.sched_getaffinity(0)))
    again = typed("train", folder, *_extended(extensions), *_among(training.team.size))
    try:
        last, made = _made(training, stop, watching, hoard)
    except KeyboardInterrupt:
        if leading():
            _interrupted(folder, again)
        raise typer.Exit(128 + signal.SIGINT) from None
    if made is not None and leading():
        _finished(training, made, as_json)
    elif made is None and last is not None:
        if leading():
            _stopped(last, again, as_json)
        raise typer.Exit(128 + stop.signal if stop.signal else 0)


def _started(recipe: str, folder: Path, more: Sequence[str], processes: int, restarts: int) -> int:
    from regard.api.launching import launched

    return launched(["train", recipe, "--out", str(folder), *more], processes, restarts)


def _set(changes: Sequence[str]) -> list[str]:
    return [word for change in changes for word in ("--set", change)]


def _extended(extensions: Sequence[Path]) -> list[str]:
    return [word for path in extensions for word in ("--extend", str(path))]


def _among(processes: int) -> list[str]:
    """What `--processes` was, where all of them are on this machine."""
    here = os.environ.get("LOCAL_WORLD_SIZE") == str(processes)
    return ["--processes", str(processes)] if processes > 1 and here else []


@contextmanager
def _one_voice(stop: "Stopping") -> Iterator[None]:
    """Inside, what goes wrong in all processes of a run is told by the first; what goes wrong in one, by that one.

    When the first ends, torchrun ends the others: who is still there after a moment knows something of its own.
    """
    from regard.train.distributed import leading

    try:
        yield
    except RegardError as error:
        if leading():
            raise
        time.sleep(MOMENT)
        if stop():
            raise typer.Exit(1) from None
        raise type(error)(f"Process {os.environ['RANK']}: {error}") from None


class Silent:
    """Watches for a process that is not the first."""

    def note(self, text: str) -> None:
        pass

    def step(self, step: "Step", planned: int) -> None:
        pass

    def shown(self) -> AbstractContextManager[object]:
        return nullcontext()


def _place(recipe: str, out: Path | None, resume: bool) -> tuple[Path, bool]:
    """The run's folder and whether it goes on: a recipe that is a run goes on where it is."""
    given = Path(recipe)
    if given.is_dir():
        return (given, True) if out is None or out == given else (out, resume)
    return out or Path("runs") / given.stem, resume


def _made(
    training: "Training", stop: "Stopping", watching: "Watcher", hoard: "Hoard | None"
) -> tuple["Step | None", "Pipeline | None"]:
    """The last update, and the model unless the run is to go on another time."""
    last = None
    with ExitStack() as inside:
        inside.enter_context(watching.shown())
        for step in training.steps(stop):
            if last is None:
                # Not before: until there is an update to save, Ctrl-C stops at once.
                inside.enter_context(stop)
            watching.step(step, training.planned)
            if hoard and step.recent is not None:
                hoard.look()
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
