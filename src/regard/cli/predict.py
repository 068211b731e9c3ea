"""`regard predict`: exactly one line out for every line in."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from regard.cli import completing
from regard.cli.options import BundleFolder, Changes, Extensions, Json, join
from regard.cli.printing import say
from regard.cli.waiting import counting
from regard.files import write_atomically

if TYPE_CHECKING:
    from regard.api import Pipeline


def predict(
    folder: BundleFolder,
    changes: Changes,
    extensions: Extensions,
    others: Annotated[
        list[Path],
        typer.Option(
            "--with",
            metavar="BUNDLE",
            help="Another bundle to decide together with; may be repeated.",
            default_factory=list,
            show_default=False,
            autocompletion=completing.bundles,
        ),
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Text, plain or gzip; - is standard input.", show_default=False)
    ] = Path("-"),
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here, once all of it is done.", show_default=False)
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="First see that the bundle still gives what it gave when it was made.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Give an output for every line of a text, in order.

    A line ends at a newline and nowhere else; a line end inside an output is
    written as backslash n. A line that is not UTF-8 gets an empty output, is
    named, and the exit code is 1. --json tells scores, statuses, probabilities
    and, with search.best, the n best.

    \b
    Examples:
      echo "A dog runs." | regard predict runs/x
      regard predict runs/x input.txt --out output.txt
      regard predict runs/x input.txt --set search.beams=1 --json
      regard predict runs/x --with runs/y --with runs/z input.txt
    """
    from regard.api import Pipeline

    join(extensions)
    pipeline = Pipeline.load(folder, changes, verify)
    if others:
        pipeline = pipeline.ensemble([Pipeline.load(other, changes, verify) for other in others])
    try:
        bad = _answered(pipeline, str(file), out, as_json)
    except BrokenPipeError:
        # Whoever read our output has enough of it (`| head`); Python would complain once more when it leaves.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        bad = 0
    raise typer.Exit(1 if bad else 0)


def _answered(pipeline: "Pipeline", file: str, out: Path | None, as_json: bool) -> int:
    """Write an output for every line; how many lines could not be read."""
    from regard.cli.lines import Answers, given, one_by_one, streamed

    answers, typing = Answers(as_json, lambda text: say(text, "red")), file == "-" and sys.stdin.isatty()
    if typing:
        say("Type a line and press Enter; Ctrl-D ends.", "dim")
    with ExitStack() as inside:
        put = inside.enter_context(_output(out))
        advance = inside.enter_context(counting(file, out is not None))
        for asked, result in (one_by_one if typing else streamed)(pipeline, given(file)):
            put.write(answers.line(asked, result))
            put.flush()
            advance()
    for sentence in answers.summary():
        say(sentence)
    return answers.bad


@contextmanager
def _output(out: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears when all of it is there."""
    if out is None:
        yield sys.stdout.buffer
    else:
        with write_atomically(out) as file:
            yield file
