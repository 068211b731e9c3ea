"""The bundles that are served, each under a name that can stand in an address."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Lock, Semaphore
from typing import TypeVar

import torch

from regard.api import Pipeline
from regard.api.pipeline import Input
from regard.errors import ConfigError, nearest
from regard.serve import access
from regard.serve.batching import Batcher, Changes, size
from regard.serve.giving_up import while_wanted
from regard.serve.loaded import Loaded
from regard.serve.metrics import Metrics
from regard.serve.problems import Busy, Late, Missing, TooLarge
from regard.serve.settings import ServeSettings
from regard.serve.streaming import Stream
from regard.tasks import Result

LOG = logging.getLogger("regard.serve")
T = TypeVar("T")
Row = Mapping[str, str]
# As many as the machine has, or OMP_NUM_THREADS allows.
CORES = torch.get_num_threads()


class Served:
    """One bundle under its name, what waits for it, and the thread that works for it."""

    def __init__(self, name: str, load: Callable[[], Loaded], shared: "Shared", title: str = "") -> None:
        self.name, self.title, self.load = name, title or name, load
        self.settings, self.shared = shared.settings, shared
        self.loaded = load()
        self.loading = Lock()
        self.streams = 0
        self.batcher = Batcher(self._compute, self.settings, self._watch)
        shared.metrics.waiting.labels(name).set_function(lambda: self.batcher.waiting)

    @property
    def pipeline(self) -> Pipeline:
        """The one in use now."""
        return self.loaded.pipeline

    @property
    def task(self) -> str:
        return self.pipeline.recipe.task

    async def predict(
        self, inputs: Sequence[Input], changes: Sequence[str] = (), deadline: float | None = None
    ) -> list[Result]:
        """A result for each input, in order, computed together with whatever else waits."""
        rows = self.checked(inputs)
        return await self._within(self.batcher.ask(rows, tuple(changes)), deadline)

    async def stream(self, given: Input, changes: Sequence[str] = ()) -> AsyncIterator[str | Result]:
        """What is settled of a result as it grows, and at last the result; it stops when nobody listens any more."""
        row = self.checked([given])[0]
        if self.streams >= self.settings.streams:
            raise Busy(f"{self.streams} answers are being streamed already; try again later.")
        self.streams += 1
        found = Stream(self.loaded, row, tuple(changes), self.shared.slots)
        try:
            async for one in found.until(self.settings.deadline):
                yield one
        except TimeoutError:
            raise self._late(self.settings.deadline) from None
        finally:
            self.streams -= 1
            found.stop()

    async def run(self, work: Callable[[Pipeline], T], deadline: float | None = None) -> T:
        """What some other work with the model gives; it is done alone, in the order of the queue."""
        access.note("model", self.name)
        return await self._within(self.batcher.do(lambda wanted: self._alone(work, wanted)), deadline)

    def checked(self, inputs: Sequence[Input], characters: int | None = None) -> list[Row]:
        """The inputs by their fields; refused where there are too many, or one lacks a field or is too long."""
        if len(inputs) > self.settings.texts:
            raise TooLarge(f"{len(inputs)} texts, and a request may have {self.settings.texts}; send them in parts.")
        rows = [self.pipeline.row(given) for given in inputs]
        for place, row in enumerate(rows):
            short(f"Input {place}", size(row), characters or self.settings.characters)
        access.note("model", self.name)
        access.note("texts", len(rows))
        if self.settings.log_texts:
            access.note("inputs", rows)
        self.shared.metrics.texts.labels(self.name).inc(len(rows))
        return rows

    async def reload(self) -> None:
        """Load the bundle again; what runs finishes on the old one, and one that cannot be loaded changes nothing."""
        await asyncio.to_thread(self._reload)

    def close(self) -> None:
        self.batcher.close()

    def _reload(self) -> None:
        with self.loading:
            self.loaded = self.load()
        self.shared.metrics.reloads.labels(self.name).inc()

    def _compute(self, rows: Sequence[Input], changes: Changes, wanted: Callable[[], bool]) -> list[Result]:
        loaded = self.loaded
        with loaded.turn, self.shared.slots, while_wanted(wanted):
            return loaded.variant(changes).predict(rows)

    def _alone(self, work: Callable[[Pipeline], T], wanted: Callable[[], bool]) -> T:
        loaded = self.loaded
        with loaded.turn, self.shared.slots, while_wanted(wanted):
            return work(loaded.pipeline)

    async def _within(self, future: Future[T], deadline: float | None) -> T:
        """What comes of it, in time; who leaves or is told that it is late has given it up."""
        seconds = min(deadline or self.settings.deadline, self.settings.deadline)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise self._late(seconds) from None

    def _late(self, seconds: float) -> Late:
        return Late(f"Not done within {seconds:g} seconds; send less at once, or ask when fewer others do.")

    def _watch(self, rows: int, seconds: float) -> None:
        self.shared.metrics.batch.labels(self.name).observe(rows)
        self.shared.metrics.computing.labels(self.name).observe(seconds)


class Shared:
    """What all bundles share: settings, counters, and how many of them may compute at once."""

    def __init__(self, settings: ServeSettings, bundles: int) -> None:
        count = settings.threads or max(1, min(bundles, CORES))
        # Once for the process: threads of torch that are more than cores wait for one another.
        torch.set_num_threads(max(1, CORES // count))
        self.settings, self.metrics, self.slots = settings, Metrics(), Semaphore(count)


class Shelf(Mapping[str, Served]):
    """All bundles by name, in the order they were given."""

    def __init__(self, bundles: Sequence[Served], shared: Shared) -> None:
        self.bundles = {one.name: one for one in bundles}
        self.shared, self.metrics = shared, shared.metrics
        self.leaving = False
        # Tells other processes that serve the same to load their bundles again.
        self.others: Callable[[], None] = lambda: None

    @classmethod
    def load(cls, folders: Sequence[Path], settings: ServeSettings, changes: Sequence[str] = ()) -> "Shelf":
        """The bundles of these folders; `changes` are settings for all of them."""
        shared = Shared(settings, len(folders))
        titles = [title(folder) for folder in folders]
        loads = [Loaded.loader(folder, changes, settings) for folder in folders]
        found = [Served(*one[:2], shared, one[2]) for one in zip(names(titles), loads, titles, strict=True)]
        refused(found)
        return cls(found, shared)

    def __getitem__(self, name: str) -> Served:
        return self.bundles[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.bundles)

    def __len__(self) -> int:
        return len(self.bundles)

    def find(self, name: str | None) -> Served:
        """The bundle of that name, or the first where none is named."""
        if not name:
            return next(iter(self.bundles.values()))
        if name not in self.bundles:
            raise Missing(f"There is no model {name[:80]!r}.{nearest(name, self)} Served: {', '.join(self)}.")
        return self.bundles[name]

    def of(self, *tasks: str) -> list[Served]:
        """The bundles of these tasks."""
        return [one for one in self.bundles.values() if one.task in tasks]

    def close(self) -> None:
        """Begin nothing more."""
        self.leaving = True
        for one in self.bundles.values():
            one.close()


def refused(bundles: Sequence[Served]) -> None:
    """Say which of the bundles the engine cannot run; that it can run none of them is an error."""
    unable = [one for one in bundles if one.loaded.refusal]
    if unable and len(unable) == len(bundles):
        raise ConfigError(unable[0].loaded.refusal)
    for one in unable:
        LOG.warning("%s is run by torch. %s", one.name, one.loaded.refusal)


def short(name: str, length: int, most: int) -> None:
    """Refuse a text that has more characters than it may."""
    if length > most:
        raise TooLarge(f"{name} has {length} characters, and {most} are allowed; send it in parts.")


def title(folder: Path) -> str:
    """What people call a bundle: its folder, or the run it is in."""
    place = folder.resolve()
    return place.parent.name if place.name == "bundle" else place.name


def names(titles: Sequence[str]) -> list[str]:
    """Names that can stand in an address, no two alike.

    >>> names(["en-de", "My run!", "en-de", "你好"])
    ['en-de', 'My-run', 'en-de-2', 'bundle']
    """
    found: list[str] = []
    for told in titles:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", told).strip("-._") or "bundle"
        numbered = (plain if number == 1 else f"{plain}-{number}" for number in range(1, len(titles) + 2))
        found.append(next(name for name in numbered if name not in found))
    return found
