"""`regard predict`: exactly one line out for every line in."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from regard.cli.loading import loading
from regard.cli.options import BundleFolder, Changes, EngineName, Engines, Extensions, Json, Others, join, own
from regard.cli.printing import say
from regard.cli.waiting import counting
from regard.errors import ConfigError
from regard.files import write_atomically

if TYPE_CHECKING:
    from regard.api import Pipeline
    from regard.api.choosing import Way
    from regard.cli.lines import Run


class Form(StrEnum):
    """What a line of input is: a text, or a JSON object of fields."""

    text = "text"
    json = "json"


class Where(StrEnum):
    """What a long input may be spread over."""

    ray = "ray"


def predict(
    folder: BundleFolder,
    changes: Changes,
    extensions: Extensions,
    others: Others,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Text, plain or gzip; - is standard input; with --on also a folder of files.",
            show_default=False,
        ),
    ] = Path("-"),
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here, once all of it is done.", show_default=False)
    ] = None,
    on: Annotated[
        Where | None,
        typer.Option(
            "--on",
            help="Spread it over the Ray cluster that RAY_ADDRESS names, or over this machine's cores; begun again, "
            "it goes on where it was.",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="First see that the bundle still gives what it gave when it was made.")
    ] = False,
    form: Annotated[
        Form | None,
        typer.Option("--input", help="What a line is; by itself json for .jsonl files.", show_default=False),
    ] = None,
    embeddings: Annotated[
        bool, typer.Option("--embeddings", help="Give the vector of each text instead, as a JSON list.")
    ] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Write each output while it is made.")] = False,
    engine: EngineName = Engines.torch,
    as_json: Json = False,
) -> None:
    """Give an output for every line of a text, in order.

    A line ends at a newline and nowhere else; a line end inside an output is
    written as backslash n. A line that is not UTF-8, or lacks a field, gets an
    empty output, is named, and the exit code is 1. --json tells scores, statuses, probabilities
    and, with search.best, the n best. Where a task reads several fields, a line
    has them with a tab between (question TAB passage), or is a JSON object.

    \b
    Examples:
      echo "A dog runs." | regard predict runs/x
      regard predict runs/x input.txt --out output.txt
      regard predict runs/x input.txt --set search.beams=1 --json
      regard predict runs/x --with runs/y --with runs/z input.txt
      regard predict runs/x questions.jsonl --json
      regard predict runs/x input.txt --embeddings
      regard predict runs/x input.txt --engine ctranslate2
      regard predict runs/x input.txt --engine auto --out output.txt
      regard predict runs/x texts/ --on ray --out outputs/
    """
    with loading():
        from regard.api import Pipeline

        join(extensions)
        engine = own(engine, folder)
        pipeline = Pipeline.load(folder, changes, verify, Engines.torch if engine is Engines.auto else engine)
    if others:
        pipeline = pipeline.ensemble([Pipeline.load(other, changes, verify) for other in others])
    if on:
        from regard.cli.spread import Job, on_ray

        if stream or engine is Engines.auto:
            raise ConfigError("--on goes neither with --stream, since it writes at the end, nor with --engine auto.")
        bundles, parts = ([str(path.absolute()) for path in paths] for paths in ([folder, *others], extensions))
        job = Job(bundles, changes, parts, engine.value, form.value if form else "", as_json, embeddings)
        raise typer.Exit(1 if on_ray(job, str(file), out) else 0)
    if not as_json:
        # Nobody sees them, and some engines measure every output again to know them.
        pipeline = pipeline.with_settings("search.probabilities=false")
    try:
        chosen = form or (Form.json if file.name.endswith((".jsonl", ".jsonl.gz")) else Form.text)
        measure = engine is Engines.auto and not others
        asking = Asking(str(file), out, chosen is Form.json, as_json, embeddings, stream, measure)
        bad = _answered(pipeline, asking)
    except BrokenPipeError:
        # Whoever read our output has enough of it (`| head`); Python would complain once more when it leaves.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        bad = 0
    raise typer.Exit(1 if bad else 0)


@dataclass(frozen=True)
class Asking:
    """What is read and how it is answered."""

    file: str
    out: Path | None
    json_in: bool
    json_out: bool
    embeddings: bool
    stream: bool
    # Whether the fastest engine is to be found.
    measure: bool = False

    @property
    def typing(self) -> bool:
        return self.file == "-" and sys.stdin.isatty()


def _answered(pipeline: "Pipeline", asking: Asking) -> int:
    """Write an output for every line; how many lines could not be answered."""
    from regard.api.choosing import Trying
    from regard.cli.lines import Answers, Talk, embedded, given, one_by_one, settling, streamed, typed

    answers = Answers(asking.json_out, lambda text: say(text, "red"))
    if asking.typing:
        say("Type a line and press Enter; Ctrl-D ends.", "dim")
    lines = given(asking.file, asking.json_in)
    run: Run = pipeline.stream
    if asking.measure and not (asking.typing or asking.stream or asking.embeddings):
        run = Trying(pipeline, _compared).stream
    with ExitStack() as inside:
        put = inside.enter_context(_output(asking.out))
        advance = inside.enter_context(counting(asking.file, asking.out is not None))
        if asking.embeddings:
            for asked, vector in embedded(pipeline, lines):
                put.write(answers.vector(asked, vector))
                put.flush()
                advance()
        elif (asking.stream or asking.typing) and not asking.json_out:
            talk = Talk(pipeline) if asking.typing else None
            show = settling if asking.stream else typed
            for asked in lines:
                asked = talk.asked(asked) if talk else asked
                asked, result = show(pipeline, asked, lambda text: _at_once(put, text))
                answers.line(asked, result)
                _at_once(put, "\n")
                advance()
                if talk:
                    talk.heard(asked, result)
        else:
            alone = asking.typing or asking.stream
            for asked, result in one_by_one(pipeline, lines) if alone else streamed(pipeline, lines, run):
                put.write(answers.line(asked, result))
                put.flush()
                advance()
    for sentence in answers.summary():
        say(sentence)
    return answers.bad


def _compared(found: "list[Way]") -> None:
    if found:
        say(f"Lines a second: {', '.join(map(str, found))}.")


def _at_once(put: Any, text: str) -> None:
    put.write(text.encode("utf-8", "backslashreplace"))
    put.flush()


@contextmanager
def _output(out: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears when all of it is there."""
    if out is None:
        yield sys.stdout.buffer
    else:
        with write_atomically(out) as file:
            yield file
