"""`regard prune`."""

from dataclasses import replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import BundleFolder, Changes, Extensions, Json, join
from regard.cli.printing import columns, next_commands, printed, say, typed
from regard.cli.waiting import waiting
from regard.errors import ConfigError
from regard.files import shown

if TYPE_CHECKING:
    from regard.api import Pipeline
    from regard.api.pruning import Measured
    from regard.data import Corpus


class By(StrEnum):
    """How the importance of a head is measured."""

    gradient = "gradient"
    ablation = "ablation"


def prune(
    folder: BundleFolder,
    changes: Changes,
    extensions: Extensions,
    heads: Annotated[int, typer.Option(metavar="K", help="How many heads to remove.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the smaller bundle goes.", show_default=False)],
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Measure on this test set, not on validation; or on files, one a field: --data a.en --data a.de.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        By, typer.Option(help="How importance is measured; ablation takes a pass for each head.")
    ] = By.gradient,
    lines: Annotated[int, typer.Option(min=1, help="Validation lines that importance is measured on.")] = 100,
    as_json: Json = False,
) -> None:
    """Remove the heads that matter least, for good, and measure what that costs and gains.

    Importance is measured on validation, of an imported model on --data. Every
    attention keeps at least one head.

    \b
    Examples:
      regard prune runs/x --heads 4 --out small
      regard prune runs/x --heads 8 --by ablation --data test --out small
    """
    from regard.api import Pipeline
    from regard.api.pruning import measured, pruned
    from regard.cli.held_out import corpora
    from regard.cli.held_out import rows as rows_of

    join(extensions)
    _refuse_full(out)
    pipeline = Pipeline.load(folder, changes)
    named = next(iter(corpora(pipeline, data).items())) if data else None
    valid = _validation(pipeline, named and named[1])
    name, corpus = named or ("valid", valid)
    rows = rows_of(corpus)
    lost = corpus.counts.lost
    with waiting("Measuring heads") as tell:
        found = pruned(pipeline.speaking(valid), [row.fields for row in islice(valid, lines)], heads, by.value)
        tell("Measuring before and after")
        before, after = (measured(one.speaking(corpus), rows, lost) for one in (pipeline, found.pipeline))
    replace(found.pipeline, scores={name: after.scores}).save(out)
    if as_json:
        removed = [str(head) for head in found.removed]
        printed({"data": name, "removed": removed, "before": before.plain(), "after": after.plain()})
        return
    if found.left_out:
        say(f"{found.left_out:,} lines tell nothing of heads and were left out; the first: {found.reason}")
    typer.echo(f"Removed: {'; '.join(map(str, found.removed))}")
    _shown(f"{name}, {len(rows):,} lines{f', {lost:,} left out' if lost else ''}", before, after)
    say(f"The smaller bundle is in {shown(out)}.")
    next_commands("Next, type:", [typed("evaluate", shown(out))])


def _validation(pipeline: "Pipeline", given: "Corpus | None") -> "Corpus":
    """What importance is measured on: validation, or for a model that came without any, the data that are given."""
    from regard.api import Materials

    data = pipeline.recipe.data
    if data.train or not data.valid.of_training:
        return Materials(pipeline.recipe).valid
    if given is None:
        raise ConfigError("This model came without validation data. Name files to measure on with --data.")
    return given


def _refuse_full(out: Path) -> None:
    """What cannot be written in the end is told at the beginning."""
    if out.exists() and not (out / "manifest.json").is_file() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{shown(out)} is there and is no bundle; give --out a new name.")


def _shown(of: str, before: "Measured", after: "Measured") -> None:
    table = [(of, "before", "after")]
    table += [
        (f"  {key}", f"{before.scores[key]['value']:.2f}", f"{one['value']:.2f}") for key, one in after.scores.items()
    ]
    table.append(("  lines a second", f"{before.lines_a_second:.1f}", f"{after.lines_a_second:.1f}"))
    table.append(("  parameters", f"{before.parameters:,}", f"{after.parameters:,}"))
    columns(table, right=[1, 2])
