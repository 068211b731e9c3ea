"""What waits for one bundle is joined and computed together, which changes no answer (promise 3).

Rows are taken from waiting requests by turns, so that a long request does not hold up a short one; what was given up is
not begun. Where a joined batch fails, each request is tried alone, and only its own fault is its own.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any, Protocol, TypeVar, runtime_checkable

from regard.api.pipeline import Input
from regard.serve.problems import Busy, Leaving
from regard.serve.settings import ServeSettings
from regard.tasks import Result

T = TypeVar("T")
Changes = tuple[str, ...]
# Who is told of every batch: how many rows, how many seconds.
Watching = Callable[[int, float], None]


@runtime_checkable
class Computing(Protocol):
    """What makes results; it may stop with any error as soon as nothing is `wanted` any more."""

    def __call__(self, rows: Sequence[Input], changes: Changes, wanted: Callable[[], bool]) -> Sequence[Result]: ...


@dataclass(eq=False)
class Asked:
    """A request on its way: rows that have not begun, and results so far."""

    rows: Sequence[Input]
    changes: Changes
    future: Future[list[Result]] = field(default_factory=Future)
    begun: int = 0
    found: dict[int, Result] = field(default_factory=dict)

    @property
    def wanted(self) -> bool:
        return not self.future.done()

    @property
    def waiting(self) -> int:
        return len(self.rows) - self.begun if self.wanted else 0

    def take(self, place: int, result: Result) -> None:
        self.found[place] = result
        if len(self.found) == len(self.rows):
            settle(self.future, [self.found[number] for number in range(len(self.rows))])


@dataclass(eq=False)
class Work:
    """Anything else that is done with a bundle, alone."""

    run: Callable[[Callable[[], bool]], Any]
    future: Future[Any] = field(default_factory=Future)

    @property
    def wanted(self) -> bool:
        return not self.future.done()

    @property
    def waiting(self) -> int:
        return int(self.wanted)


Batch = list[tuple[Asked, int]]


class Batcher:
    """The thread of one bundle, and what waits for it."""

    def __init__(self, compute: Computing, settings: ServeSettings, watch: Watching) -> None:
        self.compute, self.settings, self.watch = compute, settings, watch
        self.changed = Condition()
        self.line: deque[Asked | Work] = deque()
        self.closed = False
        # Seconds a row takes, as of late.
        self.pace = 0.05
        self.thread = Thread(target=self._serve, daemon=True)
        self.thread.start()

    def ask(self, rows: Sequence[Input], changes: Changes = ()) -> Future[list[Result]]:
        """Results to come, in order; cancel it, and rows not yet begun never will be."""
        asked = Asked(rows, changes)
        if not rows:
            asked.future.set_result([])
            return asked.future
        self._queue(asked)
        return asked.future

    def do(self, run: Callable[[Callable[[], bool]], T]) -> Future[T]:
        """What `run` will give; it is told how to learn whether it is still wanted."""
        work = Work(run)
        self._queue(work)
        return work.future

    @property
    def waiting(self) -> int:
        """How many rows have not begun."""
        with self.changed:
            return self._waiting()

    def close(self) -> None:
        """Begin nothing more; whoever still waits is told."""
        with self.changed:
            self.closed = True
            left = [one for one in self.line if one.waiting]
            self.changed.notify_all()
        for one in left:
            fail(one.future, Leaving("The service is stopping; ask again in a moment."))

    def _waiting(self) -> int:
        return sum(one.waiting for one in self.line)

    def _queue(self, one: Asked | Work) -> None:
        with self.changed:
            if self.closed:
                raise Leaving("The service is stopping; ask again in a moment.")
            before = self._waiting()
            if before and before + one.waiting > self.settings.queue:
                raise Busy(
                    f"{before} texts wait already, and no more than {self.settings.queue} may; try again later.",
                    before * self.pace,
                )
            self.line.append(one)
            self.changed.notify_all()

    def _serve(self) -> None:
        while (taken := self._taken()) is not None:
            if isinstance(taken, Work):
                work(taken)
            else:
                self._together(taken)
            # Nothing may keep a request and its answer alive while the thread waits for the next.
            del taken

    def _taken(self) -> Work | Batch | None:
        """What is done next; nothing once the batcher is closed."""
        with self.changed:
            while True:
                self.line = deque(one for one in self.line if one.waiting)
                if self.closed:
                    return None
                if self.line:
                    break
                self.changed.wait()
            first = self.line[0]
            if isinstance(first, Work):
                self.line.popleft()
                return first
            self._company(first.changes)
            return self._batch(first.changes)

    def _company(self, changes: Changes) -> None:
        """Wait a moment for others, unless there are enough."""
        until = time.monotonic() + self.settings.window_ms / 1000
        while self._alike(changes) < self.settings.batch and (left := until - time.monotonic()) > 0 and not self.closed:
            self.changed.wait(left)

    def _alike(self, changes: Changes) -> int:
        return sum(one.waiting for one in self.line if isinstance(one, Asked) and one.changes == changes)

    def _batch(self, changes: Changes) -> Batch:
        """Rows of all who ask alike, one of each by turns, as many as fit."""
        found: Batch = []
        room = self.settings.batch_characters
        for asked, place in turns([one for one in self.line if isinstance(one, Asked) and one.changes == changes]):
            room -= size(asked.rows[place])
            if found and (room < 0 or len(found) >= self.settings.batch):
                break
            asked.begun = place + 1
            found.append((asked, place))
        return found

    def _together(self, batch: Batch) -> None:
        began = time.monotonic()
        try:
            self._compute(batch)
        except Exception as error:
            self._apart(batch, error)
        seconds = time.monotonic() - began
        if batch:
            self.pace = 0.8 * self.pace + 0.2 * seconds / len(batch)
        self.watch(len(batch), seconds)

    def _compute(self, batch: Batch) -> None:
        owners = list(dict.fromkeys(asked for asked, _ in batch))
        rows = [asked.rows[place] for asked, place in batch]
        results = self.compute(rows, owners[0].changes, lambda: any(one.wanted for one in owners))
        for (asked, place), result in zip(batch, results, strict=True):
            asked.take(place, result)

    def _apart(self, batch: Batch, error: Exception) -> None:
        """Each request alone after all together failed; one alone has failed by itself."""
        owners = Counter(asked for asked, _ in batch)
        if len(owners) == 1:
            fail(batch[0][0].future, error)
            return
        for owner in owners:
            if not owner.wanted:
                continue
            try:
                self._compute([one for one in batch if one[0] is owner])
            except Exception as own:
                fail(owner.future, own)


def turns(asked: Sequence[Asked]) -> Iterator[tuple[Asked, int]]:
    """Rows that have not begun: the first of each request, then the second of each, and so on."""
    queues = deque((one, iter(range(one.begun, len(one.rows)))) for one in asked if one.wanted)
    while queues:
        one, places = queues.popleft()
        place = next(places, None)
        if place is not None:
            yield one, place
            queues.append((one, places))


def size(row: Input) -> int:
    """Characters of a row."""
    return len(row) if isinstance(row, str) else sum(map(len, row.values()))


def work(one: Work) -> None:
    """Do it, and say what came of it."""
    try:
        settle(one.future, one.run(lambda: one.wanted))
    except Exception as error:
        fail(one.future, error)


def settle(future: Future[Any], value: Any) -> None:
    # Whoever asked may have left in this very moment.
    with suppress(InvalidStateError):
        future.set_result(value)


def fail(future: Future[Any], error: Exception) -> None:
    with suppress(InvalidStateError):
        future.set_exception(error)
