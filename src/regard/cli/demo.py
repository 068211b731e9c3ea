"""`regard demo`."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for what the demo makes.")] = Path("regard-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Where the random numbers start.")] = 0,
) -> None:
    """Teach a small model to reverse strings and draw its attention."""
    from regard.demo import run

    run(out, seed)
