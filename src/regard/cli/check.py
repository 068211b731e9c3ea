"""`regard check`."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli import completing
from regard.cli.options import Changes, Extensions, Json, join
from regard.cli.printing import columns, printed
from regard.cli.waiting import waiting

WORDS = {"ok": "kept", "error": "BROKEN"}


def check(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="BUNDLE|RECIPE",
            help="A bundle, a run or a recipe.",
            show_default=False,
            autocompletion=completing.targets,
        ),
    ],
    changes: Changes,
    extensions: Extensions,
    promise: Annotated[
        str | None,
        typer.Argument(
            metavar="PROMISE",
            help="Prove this one only.",
            show_default=False,
            autocompletion=completing.promises,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove Regard's promises on a model of your own.

    \b
    Examples:
      regard check runs/x
      regard check runs/x looking
      regard check my.toml resume
    """
    from regard.api.checks import check as proven

    join(extensions)
    with waiting("Proving"):
        findings = proven(target, promise, changes)
    if as_json:
        for finding in findings:
            printed(finding.plain())
    else:
        columns([(WORDS.get(found.level, found.level), found.name, found.text) for found in findings])
    raise typer.Exit(0 if all(finding.kept for finding in findings) else 1)
