"""How fast a run goes, and how long it will still take."""

import time
from collections import deque
from collections.abc import Callable


class Pace:
    """Targets per second over the last `window` updates, and the time left by the updates since it began.

    Whatever happens between two updates counts, evaluation and saving too: the time left is of the clock on the wall.
    """

    def __init__(self, window: int = 100, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._updates = 0
        self._targets = 0
        # When, and how many targets had been seen by then.
        self._marks: deque[tuple[float, int]] = deque([(self._began, 0)], maxlen=window + 1)

    def add(self, targets: int) -> None:
        """Note an update that has just been made from this many targets."""
        self._updates += 1
        self._targets += targets
        self._marks.append((self._clock(), self._targets))

    @property
    def seconds(self) -> float:
        """Since the first moment."""
        return self._clock() - self._began

    @property
    def per_second(self) -> float:
        """Targets a second lately; 0 before the first update."""
        (began, before), (ended, after) = self._marks[0], self._marks[-1]
        return (after - before) / (ended - began) if ended > began else 0.0

    def left(self, updates: int) -> float | None:
        """Seconds that so many more updates will take; None before the first."""
        if not self._updates:
            return None
        return (self._marks[-1][0] - self._began) / self._updates * max(updates, 0)
