"""`regard recipes`: what can be trained from here."""

from typing import Annotated

import typer

from regard.cli import completing, shelf
from regard.cli.options import Json
from regard.cli.printing import printed, say
from regard.errors import ConfigError, nearest


def recipes(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show this one.", show_default=False, autocompletion=completing.recipes),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the recipes in recipes/, or show one.

    \b
    Examples:
      regard recipes
      regard recipes multi30k-en-de
    """
    known = shelf.at_hand()
    if name is None:
        _all(as_json)
    elif name.removesuffix(".toml") in known:
        _one(name.removesuffix(".toml"), as_json)
    else:
        raise ConfigError(f"There is no recipe {name!r}.{nearest(name, known)} `regard recipes` lists those at hand.")


def _all(as_json: bool) -> None:
    known = shelf.at_hand()
    if as_json:
        for name, path in known.items():
            printed({"name": name, "path": str(path), "header": shelf.header(path)})
        return
    if not known:
        say("There is no recipe here: the folder recipes/ has no TOML file. Name one: regard train my.toml")
        return
    width = max(map(len, known))
    for name, path in known.items():
        typer.echo(f"{name:<{width}}  {next(iter(shelf.header(path)), '')}".rstrip())
    say("\nregard recipes NAME shows one, regard preflight NAME tries it, regard train NAME trains it.")


def _one(name: str, as_json: bool) -> None:
    path = shelf.at_hand()[name]
    if as_json:
        printed({"name": name, "path": str(path), "header": shelf.header(path)})
    else:
        typer.echo("\n".join([str(path), "", *shelf.header(path)]))
