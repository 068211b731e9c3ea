"""The engine that is fastest here, for this model under these settings: found by a short measurement.

Every engine that can do what is asked predicts some of the inputs; all give the same results, so that only their time
decides, and nothing need be predicted twice.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from regard.api.pipeline import Input, Pipeline
from regard.engines import exported
from regard.errors import RegardError
from regard.tasks import Result

# So many inputs are tried, and of these the first not timed, for whatever an engine does only once; of fewer than
# `LEAST` in all, measuring costs more than it can gain.
SAMPLE, WARM, LEAST = 256, 128, 600


@dataclass(frozen=True)
class Way:
    """A pipeline with one of its engines, and how many inputs a second it predicted."""

    pipeline: Pipeline
    rate: float

    def __str__(self) -> str:
        name = self.pipeline.engine.name if self.pipeline.engine else "torch"
        return f"{name} {self.rate:,.0f}"


def ways(pipeline: Pipeline, folder: Path, sample: Sequence[Input]) -> list[Way]:
    """The ways there are to predict the sample, the fastest first; none where it cannot be predicted."""
    return sorted(_measured(pipeline, folder, sample), key=lambda way: -way.rate)


def _measured(pipeline: Pipeline, folder: Path, sample: Sequence[Input]) -> Iterator[Way]:
    """Each predicts a few inputs first, so that it is warm."""
    timed = sample[WARM:] or sample
    for make in _makers(pipeline, folder):
        try:
            made = make()
            made.predict(sample[:WARM])
            began = time.perf_counter()
            made.predict(timed)
        # Not installed, cannot express the model, cannot do what is asked; whoever predicts says what is wrong with an
        # input.
        except RegardError:
            continue
        yield Way(made, len(timed) / (time.perf_counter() - began))


def _makers(pipeline: Pipeline, folder: Path) -> list[Callable[[], Pipeline]]:
    """What makes a pipeline for each engine, torch first.

    An export may be quantized; whoever names one wants its results and not those of the bundle inside. How many workers
    share the threads is not tried: beside a torch that has used threads, all other numbers crawl.
    """
    export = exported(folder, "ctranslate2")
    other = partial(pipeline.with_engine, "ctranslate2", export)
    return [other] if export else [lambda: pipeline, other]


class Trying:
    """Inputs predicted by each engine in turn, a sample of them, and from there on by the fastest.

    An engine is made while the one before it predicts.
    """

    def __init__(self, pipeline: Pipeline, folder: Path, tell: Callable[[list[Way]], None]) -> None:
        """`tell` hears of the ways, the fastest first, once they are known."""
        self._plain, self._tell, self._found = pipeline, tell, list[Way]()
        making = ThreadPoolExecutor(1, "regard-engine")
        self._turns = [making.submit(make) for make in _makers(pipeline, folder)]
        making.shutdown(wait=False)

    def stream(self, inputs: Iterable[Input]) -> Iterator[Result]:
        """Results one by one, in order; called again, it goes on trying where it was."""
        rest = iter(inputs)
        while self._turns:
            some = list(islice(rest, SAMPLE))
            if not some:
                return
            yield from self._tried(self._turns[0], some)
            if not self._turns:
                self._found.sort(key=lambda way: -way.rate)
                self._tell(self._found)
        yield from (self._found[0].pipeline if self._found else self._plain).stream(rest)

    def _tried(self, turn: Future[Pipeline], some: list[Input]) -> list[Result]:
        """By the engine whose turn it is, or by the plain one where that cannot; then it has no turn any more."""
        try:
            made = turn.result()
            results = made.predict(some[:WARM])
            # What is made beside the work would be counted with it.
            wait(self._turns)
            began = time.perf_counter()
            results += made.predict(some[WARM:])
            rate = len(some[WARM:]) / (time.perf_counter() - began)
        except RegardError:
            # Where this one cannot either, that is no fault of the engine's, which stays.
            results = self._plain.predict(some)
            self._turns.remove(turn)
            return results
        # A rest says little of an engine.
        if len(some) == SAMPLE:
            self._turns.remove(turn)
            self._found.append(Way(made, rate))
        return results
