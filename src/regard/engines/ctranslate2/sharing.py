"""Several workers that write the rows of one batch."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from regard.engines.ctranslate2.running import Hear, Options, Output, Row, Writer

Told = TypeVar("Told")

# A worker that gets fewer rows than this is slower than one that writes all of them.
LEAST = 8


class Sharing:
    """A writer whose rows are cut into as many parts as it has workers, each written at the same time as the others.

    CTranslate2 lets go of Python while it computes, and hands every call to a worker that is free.
    """

    def __init__(self, writer: Writer, workers: int) -> None:
        self.writer, self.workers = writer, workers
        self.positions, self.counts_prefix = writer.positions, writer.counts_prefix
        self.reach = writer.reach
        self._calls, self._counting = 0, threading.Lock()
        self._pool = ThreadPoolExecutor(workers, "regard-ctranslate2") if workers > 1 else None

    def write(
        self, rows: Sequence[Row], options: Options, stops: Sequence[int], hear: Hear | None
    ) -> list[list[Output]]:
        def part(first: int, some: Sequence[Row]) -> list[list[Output]]:
            return self.writer.write(some, options, stops, hear and _numbered(hear, first))

        return self._shared(rows, part)

    def measure(self, rows: Sequence[Row], outputs: Sequence[Output], end: int) -> list[tuple[float, ...]]:
        def part(first: int, some: Sequence[Row]) -> list[tuple[float, ...]]:
            return self.writer.measure(some, outputs[first : first + len(some)], end)

        return self._shared(rows, part)

    def _shared(self, rows: Sequence[Row], part: Callable[[int, Sequence[Row]], list[Told]]) -> list[Told]:
        """Rows are cut only where nobody else calls: a worker that has a batch of its own is better left to it, for
        half of two batches takes longer than the whole of one."""
        with self._counting:
            self._calls += 1
            alone = self._calls == 1
        try:
            return self._parts(rows, part) if alone and len(rows) >= 2 * LEAST else part(0, rows)
        finally:
            with self._counting:
                self._calls -= 1

    def _parts(self, rows: Sequence[Row], part: Callable[[int, Sequence[Row]], list[Told]]) -> list[Told]:
        if self._pool is None:
            return part(0, rows)
        size = max(-(-len(rows) // self.workers), LEAST)
        firsts = range(0, len(rows), size)
        found = self._pool.map(lambda first: part(first, rows[first : first + size]), firsts)
        return [one for some in found for one in some]


def _numbered(hear: Hear, first: int) -> Hear:
    """Rows heard of by their number in the whole batch."""
    return lambda row, piece, value: hear(first + row, piece, value)
