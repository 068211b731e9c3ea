"""`regard explain`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.loading import loading
from regard.cli.options import BundleFolder, Changes, Extensions, join
from regard.cli.printing import say
from regard.cli.waiting import waiting
from regard.errors import RequestError, unknown
from regard.files import write_atomically

if TYPE_CHECKING:
    from regard.api import Pipeline
    from regard.explain import Attribution
    from regard.explain.budget import Progress

PREFIX, PERMUTATION = "explain.", "permutation"


def explain(
    folder: BundleFolder,
    changes: Changes,
    extensions: Extensions,
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT|FILE",
            help="What to explain, or a file of it; question TAB passage for answering.",
            show_default=False,
        ),
    ],
    method: Annotated[str, typer.Option(help="How; `regard explain --help` lists them.", show_default=False)] = "",
    target: Annotated[
        str | None, typer.Option(help="Explain this output instead of what the model gives.", show_default=False)
    ] = None,
    instead: Annotated[
        str | None,
        typer.Option(help="Why the output and not this one, where they first differ.", show_default=False),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=0, help="For methods that draw: the best estimate in so much time.", show_default=False),
    ] = None,
    pieces: Annotated[bool, typer.Option("--pieces", help="Show pieces instead of words.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .html, .svg, .png, .json or .txt file.", show_default=False),
    ] = None,
) -> None:
    """Show what counted for an output, and how far to trust the picture.

    Methods: weights, rollout, flow, attention_gradient, norms, value_zeroing
    (attention); input_gradient, integrated_gradients; occlusion, lime, shapley
    (changed inputs). Settings of a method are set with --set explain.NAME=VALUE.

    permutation is of a data set, named as for evaluate: how much worse the model
    does when a field or a common word is shuffled among its rows.

    \b
    Examples:
      regard explain runs/x "A dog runs." --out dog.html
      regard explain runs/x "A dog runs." --set explain.layer=0 --set explain.head=2
      regard explain runs/sst2 "Not bad at all." --method integrated_gradients
      regard explain runs/x "A dog runs." --target "Ein Hund rennt."
      regard explain runs/sst2 "Not bad at all." --instead negative
      regard explain runs/sst2 test.tsv --method permutation --seconds 60
    """
    with loading():
        from regard.api import Pipeline
        from regard.api.explaining import explained
        from regard.explain.rendering import render

        join(extensions)
        _check(method, out)
        own = [change.removeprefix(PREFIX) for change in changes if change.startswith(PREFIX)]
        own += _timed(method, seconds)
        pipeline = Pipeline.load(folder, [change for change in changes if not change.startswith(PREFIX)])
    with waiting("Explaining") as news:
        if method == PERMUTATION:
            found = _shuffled(pipeline, text, own, lambda done, count: news(f"{done:,} of {count:,} shuffles"))
        else:
            found = explained(pipeline, _given(_one(text)), method, target, own, not pieces, instead)
    content = render(found, ".txt" if out is None else out.suffix)
    if out is None:
        sys.stdout.write(content.decode())
        return
    with write_atomically(out) as file:
        file.write(content)
    say(f"The explanation is in {out}.")


def _check(method: str, out: Path | None) -> None:
    """Refuse what is known to be wrong before a model is asked."""
    from regard.explain.methods import METHODS
    from regard.explain.rendering import fit

    if method and method not in (known := [*METHODS, PERMUTATION]):
        raise RequestError(unknown("method", method, known))
    if out is not None:
        fit(out.suffix)


def _timed(method: str, seconds: float | None) -> list[str]:
    """The setting that keeps to a time, of a method that draws until it is over."""
    from regard.explain.methods import METHODS

    drawing = [name for name, one in METHODS.items() if "seconds" in one.settings.model_fields] + [PERMUTATION]
    if seconds is None:
        return []
    if method not in drawing and (not method or method in METHODS):
        what = f"Method {method}" if method else "The method used unless another is named"
        raise RequestError(f"{what} draws nothing, so --seconds is nothing to it; use it with {', '.join(drawing)}.")
    return [f"seconds={seconds}"]


def _shuffled(pipeline: "Pipeline", data: list[str], changes: list[str], progress: "Progress") -> "Attribution":
    """The importance of fields and words over a data set."""
    from regard.api.importance import ImportanceSettings, importance
    from regard.cli.held_out import corpora, rows
    from regard.config import override

    settings = ImportanceSettings.read(override({}, changes), f"method {PERMUTATION}")
    found = [row for corpus in corpora(pipeline, data).values() for row in rows(corpus)]
    return importance(pipeline, found, settings, progress)


def _one(texts: list[str]) -> str:
    if len(texts) > 1:
        raise RequestError(f"{len(texts)} texts were given, {texts[1][:40]!r} the second; put one in quotes.")
    return texts[0]


def _given(text: str) -> str:
    """The text itself, or what stands in the file of that name."""
    path = Path(text)
    try:
        return path.read_text("utf-8").rstrip("\n") if len(text) < 4096 and path.is_file() else text
    except (OSError, ValueError) as error:
        raise RequestError(f"{text} cannot be read: {error}.") from None
