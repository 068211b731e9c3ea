"""`regard demo`."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for what the demo makes.")] = Path("regard-demo"),
    pair: Annotated[str, typer.Option(help="Which languages: en-de or en-zh.")] = "en-de",
    seed: Annotated[int, typer.Option(min=0, help="Where the random numbers start.")] = 0,
) -> None:
    """Teach a small model to translate a phrasebook, and draw where it looks; under two minutes.

    \b
    Examples:
      regard demo
      regard demo --pair en-zh --out /tmp/demo
    """
    from regard.demo import run

    run(out, seed, pair)
