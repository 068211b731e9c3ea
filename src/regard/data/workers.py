"""A function computed by several processes, with the results in the order of the tasks."""

import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, NamedTuple, TypeVar

from regard.errors import DataError, RegardError

Task = TypeVar("Task")
Result = TypeVar("Result")

# How many tasks a worker, at most, may be ahead of the slowest one; bounds what waits for its turn.
AHEAD = 4


class Failure(NamedTuple):
    """What a worker could not do; `told` if the sentence is meant for the user."""

    told: bool
    sentence: str


def ordered(function: Callable[[Task], Result], tasks: Iterable[Task], processes: int) -> Generator[Result, None, None]:
    """`function` of every task, in order; with one process, computed right here.

    The processes are spawned, so `function` must be importable or picklable. They end when this iterator does, and by
    themselves when this process is killed.
    """
    if processes == 1:
        yield from map(function, tasks)
        return
    crew = Crew(function, processes)
    try:
        yield from crew.results(tasks)
    finally:
        crew.dismiss()


class Crew(Generic[Task, Result]):
    """Processes that wait for tasks at one end of a pipe each."""

    def __init__(self, function: Callable[[Task], Result], processes: int):
        self.workers: dict[Connection, BaseProcess] = {}
        self.busy: dict[Connection, int] = {}
        for _ in range(processes):
            here, there = get_context("spawn").Pipe()
            process = get_context("spawn").Process(target=_serve, args=(function, there), daemon=True)
            process.start()
            # Held by the worker alone, so that each side notices the other's death.
            there.close()
            self.workers[here] = process

    def results(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """The results in order; tasks are read ahead while the workers compute."""
        numbered, ready, early, turn, more = enumerate(tasks), deque[tuple[int, Task]](), dict[int, Result](), 0, True
        while more or ready or self.busy:
            if hungry := more and len(ready) < len(self.workers):
                found = list(islice(numbered, 1))
                ready.extend(found)
                more = bool(found)
            self._hand_out(ready, turn + AHEAD * len(self.workers))
            early.update(self._collect(0.0 if hungry else None))
            while turn in early:
                yield early.pop(turn)
                turn += 1

    def _hand_out(self, ready: deque[tuple[int, Task]], limit: int) -> None:
        """Gives a task to every idle worker, but none that is too far ahead of its turn."""
        for connection in [worker for worker in self.workers if worker not in self.busy]:
            if ready and ready[0][0] < limit:
                self.busy[connection], task = ready.popleft()
                self._send(connection, task)

    def _collect(self, patience: float | None) -> dict[int, Result]:
        """What the workers have finished, under the numbers of the tasks."""
        done = [connection for connection in wait(list(self.busy), patience) if isinstance(connection, Connection)]
        return {self.busy.pop(connection): self._receive(connection) for connection in done}

    def dismiss(self) -> None:
        """Ends the workers at once; they hold nothing that could be lost."""
        for connection, process in self.workers.items():
            connection.close()
            process.kill()
            process.join()

    def _send(self, connection: Connection, task: Task) -> None:
        try:
            connection.send(task)
        except OSError:
            raise self._death(connection) from None

    def _receive(self, connection: Connection) -> Any:
        try:
            outcome = connection.recv()
        except (EOFError, OSError):
            raise self._death(connection) from None
        if not isinstance(outcome, Failure):
            return outcome
        raise DataError(outcome.sentence) if outcome.told else RuntimeError(outcome.sentence)

    def _death(self, connection: Connection) -> DataError:
        process = self.workers[connection]
        process.join(timeout=5)
        code = process.exitcode
        cause = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        hint = "out of memory?" if code == -signal.SIGKILL else 'a script starts it under `if __name__ == "__main__":`'
        return DataError(f"A worker process ended {cause} ({hint}). Start again, with fewer processes if need be.")


def _serve(function: Callable[[Task], Result], connection: Connection) -> None:
    """Answers tasks until the other end is closed, be it by the death of the process that holds it."""
    # One worker a core: a tokenizer that starts threads of its own would only get in the way.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Ctrl-C reaches the whole group; the parent decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while True:
            connection.send(_outcome(function, connection.recv()))


def _outcome(function: Callable[[Task], Result], task: Task) -> Result | Failure:
    try:
        return function(task)
    except RegardError as error:
        return Failure(True, str(error))
    except Exception:
        return Failure(False, traceback.format_exc())
