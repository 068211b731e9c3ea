"""A count of lines done, while outputs go where nobody sees them."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from regard.cli.printing import errors
from regard.files import count_lines


@contextmanager
def counting(file: str, hidden: bool) -> Iterator[Callable[[], None]]:
    """What to call for every line done; it draws a bar if there is a terminal that does not show the lines anyway."""
    console = errors()
    if not console.is_terminal or console.is_dumb_terminal or (sys.stdout.isatty() and not hidden):
        yield lambda: None
        return
    look = (BarColumn(), MofNCompleteColumn(), TextColumn("lines"), TimeRemainingColumn(compact=True))
    with Progress(*look, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as progress:
        task = progress.add_task("", total=count_lines(file) if os.path.isfile(file) else None)
        yield lambda: progress.advance(task)
