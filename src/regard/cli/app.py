"""The commands. Anything that needs torch is imported inside its command, so that `--help` stays instant."""

from pathlib import Path
from typing import Annotated

import typer

from regard import __version__

__all__ = ["app"]

app = typer.Typer(
    name="regard",
    help="Train, run, explain and serve sequence models built on attention.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Train, run, explain and serve sequence models built on attention."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for what the demo makes.")] = Path("regard-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Where the random numbers start.")] = 0,
) -> None:
    """Teach a small model to reverse strings and draw its attention."""
    from regard.demo import run

    run(out, seed)
