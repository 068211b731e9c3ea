"""`regard serve`."""

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import completing
from regard.cli.options import Changes, Extensions, join
from regard.cli.printing import next_commands, say

if TYPE_CHECKING:
    from regard.serve.settings import ServeSettings

PREFIX = "serve."


class Engine(StrEnum):
    """What can run the models of a service."""

    torch = "torch"
    ctranslate2 = "ctranslate2"
    onnx = "onnx"
    shortlist = "shortlist"


def serve(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="BUNDLE...",
            help="Bundles, or the runs that made them; the first answers where none is named.",
            show_default=False,
            autocompletion=completing.bundles,
        ),
    ],
    changes: Changes,
    extensions: Extensions,
    host: Annotated[
        str | None, typer.Option(help="Where to listen; 0.0.0.0 lets other machines in.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[int | None, typer.Option(help="0 is any that is free.", show_default="8000")] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keys, one a line; callers need one.", show_default=False)
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="A site whose pages may ask; may be repeated.", show_default=False),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; each loads all.", show_default="1")] = None,
    threads: Annotated[
        int | None, typer.Option(help="Bundles that compute at once.", show_default="as cores allow")
    ] = None,
    engine: Annotated[
        Engine | None,
        typer.Option(help="What runs the models it can run; torch runs the others.", show_default="torch"),
    ] = None,
    log_texts: Annotated[bool | None, typer.Option("--log-texts", help="Write texts into the log.")] = None,
) -> None:
    """Serve bundles over HTTP, with a page to use them.

    LibreTranslate's, OpenAI's and Hugging Face's clients can use it as it is.
    Limits are set with --set serve.NAME=VALUE: queue, deadline, characters
    and more; the settings of bundles as everywhere. SIGTERM finishes what
    runs, then stops; SIGHUP loads the bundles again.

    \b
    Examples:
      regard serve runs/en-de
      regard serve runs/en-de runs/sst2 --port 8080
      regard serve runs/en-de --host 0.0.0.0 --api-key-file keys.txt
      regard serve runs/en-de --engine ctranslate2
      regard serve runs/en-de --set search.beams=1 --set serve.queue=512
    """
    from regard.config import override
    from regard.serve.settings import ServeSettings

    given = {
        "host": host,
        "port": port,
        "api_key_file": api_key_file,
        "cors": tuple(cors) if cors else None,
        "workers": workers,
        "threads": threads,
        "engine": None if engine is None else engine.value,
        "log_texts": log_texts,
    }
    own = [change.removeprefix(PREFIX) for change in changes if change.startswith(PREFIX)]
    said = {name: value for name, value in given.items() if value is not None}
    settings = ServeSettings.read({**override({}, own), **said}, "serve")
    _serve(folders, settings, [change for change in changes if not change.startswith(PREFIX)], extensions)


def _serve(folders: list[Path], settings: "ServeSettings", changes: list[str], extensions: list[Path]) -> None:
    from regard.serve.keys import Keys
    from regard.serve.running import address, listen, serve

    Keys.read(settings.api_key_file)
    _warn(settings)
    with listen(settings) as listening:
        at = address(listening)
        if settings.workers > 1:
            from regard.serve.workers import Workers, told

            Workers(told(folders, settings, changes, extensions), listening, settings).run(
                lambda: _started(at, settings, f"{len(folders)} bundles in {settings.workers} processes", {})
            )
            return
        join(extensions)
        say("Loading ...", "dim")
        serve(folders, settings, changes, listening, lambda shelf: _started(at, settings, "", _fields(shelf)))


def _fields(shelf: Mapping[str, Any]) -> dict[str, tuple[str, list[str]]]:
    return {name: (_kind(one), list(one.pipeline.task.inputs())) for name, one in shelf.items()}


def _kind(served: Any) -> str:
    """The task of a bundle, and what runs it where that is not torch."""
    engine = served.loaded.engine
    return str(served.task) if engine == "torch" else f"{served.task}, by {engine}"


def _warn(settings: "ServeSettings") -> None:
    if settings.public and settings.api_key_file is None:
        say("ANYONE WHO REACHES THIS MACHINE CAN USE THE SERVICE: no API key is asked for.", "bold red")
        say("Make keys and name their file with --api-key-file, or listen on 127.0.0.1.", "red")


def _started(at: str, settings: "ServeSettings", many: str, served: Mapping[str, tuple[str, list[str]]]) -> None:
    """Where it is, what is there, and what to type next."""
    say(f"Serving {many} on {at}" if many else f"Serving on {at}", "bold")
    for name, (kind, _) in served.items():
        say(f"  {name}  ({kind})")
    fields = next(iter(served.values()))[1] if served else ["source"]
    text = dict.fromkeys(fields, "A dog runs.")
    body = json.dumps({"inputs": [text if len(fields) > 1 else "A dog runs."]})
    key = " -H 'authorization: Bearer KEY'" if settings.api_key_file else ""
    curl = f"curl {at}/v1/predict -H 'content-type: application/json'{key} -d '{body}'"
    next_commands(f"Open {at} in a browser, read {at}/docs, or:", [curl])
