"""What is drawn on a terminal while one waits, and is gone afterwards."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from regard.cli.printing import errors
from regard.files import count_lines


@contextmanager
def counting(file: str, hidden: bool) -> Iterator[Callable[[], None]]:
    """What to call for every line done; it draws a bar if there is a terminal that does not show the lines anyway."""
    console = errors()
    if not live(console) or (sys.stdout.isatty() and not hidden):
        yield lambda: None
        return
    look = (BarColumn(), MofNCompleteColumn(), TextColumn("lines"), TimeRemainingColumn(compact=True))
    with Progress(*look, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as progress:
        task = progress.add_task("", total=count_lines(file) if os.path.isfile(file) else None)
        yield lambda: progress.advance(task)


@contextmanager
def waiting(first: str) -> Iterator[Callable[[str], None]]:
    """What to call with news that will be told in full later: a terminal shows the last of it."""
    console = errors()
    if not live(console):
        yield lambda _: None
        return
    with console.status(Text(first)) as status:
        yield lambda text: status.update(Text(text.partition("\n")[0], no_wrap=True, overflow="ellipsis"))


def live(console: Console) -> bool:
    """Whether something can be drawn there, and drawn again."""
    return console.is_terminal and not console.is_dumb_terminal
