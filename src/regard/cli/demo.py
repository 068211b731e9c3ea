"""`regard demo`."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import Changes


def demo(
    changes: Changes,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for what the demo makes.")] = Path("regard-demo"),
    task: Annotated[
        str,
        typer.Option(
            help="translation, summarization, classification, tagging, answering, language or dialogue.",
        ),
    ] = "translation",
    pair: Annotated[str, typer.Option(help="Which languages to translate: en-de or en-zh.")] = "en-de",
    seed: Annotated[int, typer.Option(min=0, help="Where the random numbers start.")] = 0,
) -> None:
    """Teach a small model one of the tasks, from a corpus made on the spot; a minute or two.

    \b
    Examples:
      regard demo
      regard demo --pair en-zh --out /tmp/demo
      regard demo --task tagging
      regard demo --set device=cpu
    """
    from regard.demo import run

    run(out, seed, task, pair, tuple(changes))
