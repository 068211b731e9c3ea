"""`regard audit`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import completing
from regard.cli.evaluate import Data
from regard.cli.options import BundleFolder, Changes, Extensions, join
from regard.cli.printing import duration, say, written
from regard.cli.waiting import waiting
from regard.files import lines, write_atomically

if TYPE_CHECKING:
    from regard.api import Pipeline
    from regard.explain.audit import Cost

PREFIX = "audit."


def audit(
    folder: BundleFolder,
    changes: Changes,
    extensions: Extensions,
    data: Data = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="BUNDLE",
            help="Another model of the task, such as of another seed; may be repeated.",
            show_default=False,
            autocompletion=completing.bundles,
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Read no more texts than fit in this time.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .html, .json or .txt file.", show_default=False)
    ] = None,
) -> None:
    """Tell whether attention is an explanation for this model.

    Without DATA on every test set the recipe names; a file of inputs alone is
    enough. What is audited is set with --set audit.NAME=VALUE: rows, seed, kind,
    layer, head, epsilon.

    \b
    Examples:
      regard audit runs/x --out audit.html
      regard audit runs/x test.en --set audit.rows=200
      regard audit runs/x --also runs/y --also runs/z
      regard audit runs/x --set audit.layer=0 --seconds 60
    """
    from regard.api import Pipeline
    from regard.api.auditing import audited
    from regard.config import override
    from regard.explain.audit import AuditSettings, Watch
    from regard.explain.audit.page import form, text

    join(extensions)
    shown = text if out is None else form(out.suffix)
    own = [change.removeprefix(PREFIX) for change in changes if change.startswith(PREFIX)]
    given = {} if seconds is None else {"seconds": seconds}
    settings = AuditSettings.read(override(given, own), "audit")
    others = [change for change in changes if not change.startswith(PREFIX)]
    pipeline = Pipeline.load(folder, others)
    beside = {str(other): Pipeline.load(other, others) for other in also or []}
    rows = _rows(pipeline, data or [])
    with waiting("Auditing the first text") as news:
        watch = Watch(_told, lambda done, count: news(f"Audited {done:,} of {count:,} texts"))
        found = audited(pipeline, rows, settings, beside, watch)
    if out is None:
        written(shown(found).rstrip("\n"))
        return
    with write_atomically(out) as file:
        file.write(shown(found).encode("utf-8", "backslashreplace"))
    say(found.sentences[0])
    say(f"The audit is in {out}.")


def _rows(pipeline: "Pipeline", data: Sequence[str]) -> list[Mapping[str, str]]:
    """Rows of held-out data; of one file that is no table, its lines, for an audit needs no references."""
    from regard.cli.held_out import corpora, rows, suffix
    from regard.data.settings import FORMATS

    plain = len(data) == 1 and FORMATS.get(suffix(data[0]).lower(), "text") == "text"
    if plain and len(pipeline.task.fields) > 1 and Path(data[0]).is_file():
        return [pipeline.row(line.text) for line in lines(data[0])]
    return [row for corpus in corpora(pipeline, data).values() for row in rows(corpus)]


def _told(cost: "Cost") -> None:
    say(f"{cost.texts:,} texts, {cost.passes:,} versions of them to score: about {duration(cost.seconds)}.")
