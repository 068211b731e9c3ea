"""One result as it grows, computed step by step in a thread of its own between the batches of others."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from threading import Event, Semaphore, Thread

from regard.serve.giving_up import GaveUp, while_wanted
from regard.serve.loaded import Loaded
from regard.tasks import Result

Growing = str | Result


class Stream:
    """What a search has settled, as an event loop takes it; `stop` ends the search at its next step."""

    def __init__(self, loaded: Loaded, row: Mapping[str, str], changes: tuple[str, ...], slots: Semaphore) -> None:
        self.loaded, self.row, self.changes, self.slots = loaded, row, changes, slots
        self.loop = asyncio.get_running_loop()
        self.found: asyncio.Queue[Growing | Exception | None] = asyncio.Queue()
        self.stopped = Event()
        # A thread of its own: what torch remembers between steps (no gradients), it remembers by thread.
        Thread(target=self._run, daemon=True).start()

    async def until(self, seconds: float) -> AsyncIterator[Growing]:
        """What comes, for so long; then a TimeoutError."""
        end = self.loop.time() + seconds
        # One wait at a time: who takes the first need not be the task that takes the rest.
        while (one := await asyncio.wait_for(self.found.get(), end - self.loop.time())) is not None:
            if isinstance(one, Exception):
                raise one
            yield one

    def stop(self) -> None:
        self.stopped.set()

    def _run(self) -> None:
        try:
            for one in self._steps():
                self._put(one)
        except GaveUp:
            pass
        except Exception as error:
            self._put(error)
        self._put(None)

    def _steps(self) -> Iterator[Growing]:
        with ExitStack() as whole:
            turn: AbstractContextManager[None] = self.loaded.turn
            with turn:
                pipeline = self.loaded.variant(self.changes)
            if getattr(getattr(pipeline.recipe, "search", None), "coverage", 0.0):
                # It watches the model from its first step to its last, and would see the batches between.
                whole.enter_context(turn)
                turn = nullcontext()
            steps = pipeline.settle(self.row)
            one: Growing | None = ""
            while one is not None and not self.stopped.is_set():
                with turn, self.slots, while_wanted(lambda: not self.stopped.is_set()):
                    one = next(steps, None)
                if one is not None:
                    yield one

    def _put(self, one: Growing | Exception | None) -> None:
        # A loop that is gone has nobody left to tell.
        if not self.stopped.is_set() and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.found.put_nowait, one)
