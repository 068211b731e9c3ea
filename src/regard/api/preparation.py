"""What is said while data are prepared, which may take long."""

import time
from collections.abc import Callable

from regard.data import Progress

# Seconds between two sentences.
EVERY = 10.0


class Spoken:
    """Says every so often how far a preparation is, and how long it will still take."""

    def __init__(self, tell: Callable[[str], None], every: float = EVERY) -> None:
        self.tell, self.every, self.last = tell, every, time.monotonic()

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() - self.last < self.every:
            return
        self.last = time.monotonic()
        self.tell(f"Prepared {progress.rows:,} rows, {progress.share:.0%} of the text{_left(progress.seconds_left)}.")


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"; {seconds:.0f} seconds left" if seconds < 90 else f"; {seconds / 60:.0f} minutes left"
