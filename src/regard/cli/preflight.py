"""`regard preflight`."""

import typer

from regard.cli.options import Changes, Extensions, Json, RecipeName, join
from regard.cli.printing import columns, next_commands, printed, typed
from regard.cli.waiting import waiting

WORDS = {"error": "ERROR"}


def preflight(recipe: RecipeName, changes: Changes, extensions: Extensions, as_json: Json = False) -> None:
    """Find what would go wrong in a training, before it starts.

    Settings, files, tokenizer, lengths, memory, then one update, validated,
    saved, loaded and resumed; and how long all of it would take.

    \b
    Examples:
      regard preflight my.toml
      regard preflight multi30k-en-de --set model.width=64
    """
    from regard.api import read
    from regard.api.preflight import preflight as examine
    from regard.train.allocation import keep_freed

    join(extensions)
    with waiting("Reading the recipe") as tell:
        settings = read(recipe, changes)
        # Its rate is to be that of `regard train`.
        if settings.train.keep_memory:
            keep_freed()
        report = examine(settings, tell)
    failed = any(finding.level == "error" for finding in report.findings)
    if as_json:
        printed(report.plain())
    else:
        columns([(WORDS.get(finding.level, finding.level), finding.name, finding.text) for finding in report.findings])
        if not failed:
            words = [word for change in changes for word in ("--set", change)]
            words += [word for path in extensions for word in ("--extend", str(path))]
            next_commands("Next:", [typed("train", recipe, *words)])
    raise typer.Exit(1 if failed else 0)
