"""Who may use a model: one at a time, in the order they came."""

from collections import deque
from threading import Lock
from types import TracebackType


class Turn:
    """A lock that is fair: a stream that takes one step after another lets everyone between who waits.

    Models are watched and changed in place while they are explained, so that two threads may never use one at once.
    """

    def __init__(self) -> None:
        self.guard = Lock()
        self.taken = False
        self.line: deque[Lock] = deque()

    def __enter__(self) -> None:
        with self.guard:
            if not self.taken:
                self.taken = True
                return
            mine = Lock()
            mine.acquire()
            self.line.append(mine)
        mine.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.guard:
            if self.line:
                self.line.popleft().release()
            else:
                self.taken = False
