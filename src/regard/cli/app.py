"""The commands. Anything that needs torch is imported inside its command, so that `--help` stays instant."""

from typing import Annotated

import typer

from regard import __version__
from regard.cli.align import align
from regard.cli.audit import audit
from regard.cli.check import check
from regard.cli.compare import compare
from regard.cli.demo import demo
from regard.cli.evaluate import evaluate
from regard.cli.explain import explain
from regard.cli.export import export
from regard.cli.importing import importing
from regard.cli.inspect import inspect
from regard.cli.predict import predict
from regard.cli.preflight import preflight
from regard.cli.prune import prune
from regard.cli.recipes import recipes
from regard.cli.serve import serve
from regard.cli.train import train

__all__ = ["app"]

# In the order of the help.
COMMANDS = (
    train,
    predict,
    evaluate,
    compare,
    explain,
    audit,
    serve,
    preflight,
    check,
    inspect,
    align,
    prune,
    export,
    recipes,
    demo,
)

app = typer.Typer(name="regard", no_args_is_help=True, pretty_exceptions_show_locals=False)


def print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"regard {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Train, run, explain and serve sequence models built on attention.

    \b
    To begin:
      regard demo                        see it work
      regard recipes                     what can be trained from here
      regard preflight RECIPE            what would go wrong, before it does
      regard train RECIPE                a run, kept in runs/
      regard predict runs/x input.txt    one line out for every line in
    """


for command in COMMANDS:
    app.command()(command)
app.add_typer(importing, name="import")
