"""A wish to stop, heard as a signal and granted after the step."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Inside, the first SIGINT or SIGTERM only raises a flag; the second does what it did before.

        with Stopping() as stop:
            for step in fit(..., stop=stop):

    A signal that was ignored stays ignored (jobs in the background). Python hears signals in its main thread only; in
    any other this does nothing.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Callable[[int, FrameType | None], Any] | int] = {}

    def __call__(self) -> bool:
        """Whether someone asked to stop."""
        return self.signal is not None

    def __enter__(self) -> "Stopping":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                # None: put there by something that is not Python, which could not be put back.
                if before is not None and before is not signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._restore()

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())
