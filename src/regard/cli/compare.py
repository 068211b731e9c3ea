"""`regard compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import completing
from regard.cli.evaluate import Data
from regard.cli.options import BundleFolder, Changes, Extensions, Json, join
from regard.cli.printing import printed
from regard.cli.waiting import waiting
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.metrics import Comparison

# From here down a difference is taken for more than luck.
UNLIKELY = 0.05


def compare(
    folder: BundleFolder,
    changes: Changes,
    extensions: Extensions,
    other: Annotated[
        Path,
        typer.Argument(
            metavar="BUNDLE", help="The model to compare with.", show_default=False, autocompletion=completing.bundles
        ),
    ],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Tell whether one model is better than another, or only luckier.

    Both answer the same data; then a thousand test sets are drawn from it
    (paired bootstrap) to see how often the difference would come by chance.

    \b
    Examples:
      regard compare runs/x runs/y
      regard compare runs/x runs/y test.en test.de
    """
    from regard.api import Pipeline
    from regard.api.unseen import unseen
    from regard.cli.held_out import corpora
    from regard.metrics import compare as compared

    join(extensions)
    first, second = Pipeline.load(folder, changes), Pipeline.load(other, changes)
    if first.task.fields != second.task.fields:
        raise ConfigError(
            f"{folder} is for {first.recipe.task} and {other} for {second.recipe.task}; two models can be compared "
            "where both answer the same data."
        )
    for name, corpus in corpora(first, data or []).items():
        placed = list(corpus)
        rows = [row.fields for row in placed]
        # What one of them never saw may be known to the other.
        strange = [(path, unseen(one.task, placed)) for path, one in ((folder, first), (other, second))]
        with waiting(f"Both on {name}"):
            judged = [one.speaking(corpus).judged(rows, first.recipe.metrics) for one in (first, second)]
        references = [first.references(row) for row in rows]
        if not as_json:
            odd = [f"{path}: {found}" for path, found in strange if found]
            typer.echo("\n  ".join([f"{name}: {len(rows):,} lines", *corpus.counts.reasons(), *odd]))
        for part in first.recipe.metrics:
            found = compared(judged[0].outputs(part), judged[1].outputs(part), references, part)
            if as_json:
                facts = {
                    "lines": len(rows),
                    "left_out": corpus.counts.plain()["left_out"],
                    "unseen": [one.plain() for _, one in strange],
                }
                printed({"data": name, "metric": str(part), **_plain(found), **facts})
            else:
                typer.echo(f"  {found}\n  {sentence(found, str(folder), str(other))}")


def sentence(found: "Comparison", first: str, second: str) -> str:
    """What a comparison means."""
    if found.delta == 0:
        return f"By {found.first.name} they are the same."
    if found.p_value > UNLIKELY:
        return f"By {found.first.name} neither is better: a difference this large may well be luck."
    better, worse = (second, first) if (found.delta > 0) == found.first.higher_is_better else (first, second)
    return f"By {found.first.name} {better} is better than {worse} by {abs(found.delta):.2f}, and that is not luck."


def _plain(found: "Comparison") -> dict[str, Any]:
    return {
        "first": found.first.value,
        "second": found.second.value,
        "delta": found.delta,
        "interval": found.interval,
        "p_value": found.p_value,
        "samples": found.samples,
        "signature": found.first.signature,
    }
