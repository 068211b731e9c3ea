"""`regard evaluate`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.loading import loading
from regard.cli.options import BundleFolder, Changes, EngineName, Engines, Extensions, Json, Others, join, own
from regard.cli.printing import counted, duration, one_line, printed, say, scored, told
from regard.cli.waiting import waiting
from regard.files import write_atomically

if TYPE_CHECKING:
    from regard.api import Evaluation
    from regard.data import Corpus

Data = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DATA",
        help="Test sets of the recipe by name, or a file of sources and one of references, or one table of both.",
        show_default=False,
    ),
]


def evaluate(
    folder: BundleFolder,
    changes: Changes,
    extensions: Extensions,
    others: Others,
    data: Data = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the outputs here, one a line.", show_default=False)
    ] = None,
    engine: EngineName = Engines.torch,
    as_json: Json = False,
) -> None:
    """Measure a model on held-out data, each score with its signature.

    Without DATA on every test set the recipe names.

    \b
    Examples:
      regard evaluate runs/x
      regard evaluate runs/x test_2016_flickr --set search.beams=1
      regard evaluate runs/x test.en test.de --out output.de
      regard evaluate runs/x --set data.root=/elsewhere
      regard evaluate runs/x --engine ctranslate2
      regard evaluate runs/x --with runs/y --with runs/z
    """
    with loading():
        from regard.api import Pipeline
        from regard.api.choosing import fastest
        from regard.cli.held_out import corpora

        join(extensions)
        engine = own(engine, folder)
        pipeline = Pipeline.load(folder, changes, engine=Engines.torch if engine is Engines.auto else engine)
    if others:
        pipeline = pipeline.ensemble([Pipeline.load(other, changes) for other in others])
    outputs: list[str] = []
    for name, corpus in corpora(pipeline, data or []).items():
        began = time.monotonic()
        with waiting(f"Evaluating on {name}"):
            if engine is Engines.auto and not others:
                running = fastest(pipeline, [pipeline.asked(row.fields) for row in corpus])
            else:
                running = pipeline
            found = running.evaluate(corpus)
        _shown(name, corpus, found, time.monotonic() - began, as_json)
        outputs += [one_line(result.text) for result in found.results]
    if out is not None and not outputs:
        say(f"What is measured here is how likely the data are; there is no output to write to {out}.")
    elif out is not None:
        with write_atomically(out) as file:
            file.write("".join(f"{line}\n" for line in outputs).encode("utf-8", "backslashreplace"))
        say(f"The outputs are in {out}.")


def _shown(name: str, corpus: "Corpus", found: "Evaluation", seconds: float, as_json: bool) -> None:
    lines, statuses = corpus.counts.kept, counted(result.status for result in found.results)
    if as_json:
        left_out = corpus.counts.plain()["left_out"]
        facts = {"lines": lines, "left_out": left_out, "unseen": found.unseen.plain(), "statuses": statuses}
        details = {what: detail.plain() for what, detail in found.details.items()}
        printed({"data": name, "scores": found.plain(), **facts, "seconds": round(seconds, 3), **details})
        return
    odd, count = told(statuses, lines), f"{lines:,} {'line' if lines == 1 else 'lines'}"
    first = f"{name}: {count} in {duration(seconds)}{'; ' + odd if odd else ''}"
    typer.echo("\n  ".join([first, *corpus.counts.reasons(), *([str(found.unseen)] if found.unseen else [])]))
    scored(found.plain())
    for what, detail in found.details.items():
        typer.echo(f"\n{what}\n{detail}")
