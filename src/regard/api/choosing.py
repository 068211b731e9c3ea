"""The engine that is fastest here, for this model under these settings: found by a short measurement.

Every engine that can do what is asked predicts some of the inputs; all give the same results, so that only their time
decides, and nothing need be predicted twice.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from regard.api.pipeline import Input, Pipeline
from regard.errors import RegardError
from regard.tasks import Result
from regard.tasks.grouping import WINDOW

# So many inputs are tried, and of these the first not timed, for whatever an engine does only once.
SAMPLE, WARM = 256, 128
# What is over in so many seconds gains nothing by another engine, which has to be made first.
PATIENCE = 10.0


@dataclass(frozen=True)
class Way:
    """A pipeline with one of its engines, and how many inputs a second it predicted."""

    pipeline: Pipeline
    rate: float

    def __str__(self) -> str:
        name = self.pipeline.engine.name if self.pipeline.engine else "torch"
        return f"{name} {self.rate:,.0f}"


def ways(pipeline: Pipeline, sample: Sequence[Input]) -> list[Way]:
    """The ways there are to predict the sample, the fastest first; none where it cannot be predicted."""
    return sorted(_measured(pipeline, sample), key=lambda way: -way.rate)


def _measured(pipeline: Pipeline, sample: Sequence[Input]) -> Iterator[Way]:
    """Each predicts a few inputs first, so that it is warm."""
    timed = sample[WARM:] or sample
    for make in _makers(pipeline):
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


def _makers(pipeline: Pipeline) -> list[Callable[[], Pipeline]]:
    """What makes a pipeline for each engine, torch first.

    How many workers share the threads is not tried: beside a torch that has used threads, all other numbers crawl.
    """
    return [lambda: pipeline, partial(pipeline.with_engine, "ctranslate2")]


class Trying:
    """Inputs predicted as they are at first; where they go on for long, by each engine in turn, a sample of them, and
    from there on by the fastest."""

    def __init__(self, pipeline: Pipeline, tell: Callable[[list[Way]], None], patience: float | None = None) -> None:
        """`tell` hears of the ways, the fastest first, once they are known; `patience` is PATIENCE unless given."""
        self._plain, self._tell, self._found = pipeline, tell, list[Way]()
        self._makers, self._patience = _makers(pipeline), PATIENCE if patience is None else patience
        self._deadline: float | None = None
        self._turns: list[Future[Pipeline]] | None = None

    def stream(self, inputs: Iterable[Input]) -> Iterator[Result]:
        """Results one by one, in order; called again, it goes on trying where it was."""
        rest = iter(inputs)
        if self._turns is None:
            yield from self._at_first(rest)
        if (some := list(islice(rest, SAMPLE))) and self._turns is None:
            self._turns = self._made()
        while self._turns and some:
            # An engine is made while another predicts.
            if all(turn.done() for turn in self._turns) or len(self._turns) == 1:
                yield from self._tried(self._turns, some)
            else:
                yield from self._plain.predict(some)
            some = list(islice(rest, SAMPLE))
            if not self._turns:
                self._found.sort(key=lambda way: -way.rate)
                self._tell(self._found)
        yield from (self._found[0].pipeline if self._found else self._plain).stream(chain(some, rest))

    def _at_first(self, rest: Iterator[Input]) -> Iterator[Result]:
        """Until it has taken so long that another engine may pay for its making."""
        self._deadline = self._deadline or time.perf_counter() + self._patience
        size = SAMPLE
        while (left := self._deadline - time.perf_counter()) > 0 and (some := list(islice(rest, size))):
            began = time.perf_counter()
            yield from self._plain.predict(some)
            # As many as there is time for: more are better batched.
            rate = len(some) / (time.perf_counter() - began)
            size = min(max(int(rate * left), SAMPLE), WINDOW)

    def _made(self) -> list[Future[Pipeline]]:
        making = ThreadPoolExecutor(1, "regard-engine")
        turns = [making.submit(make) for make in self._makers]
        making.shutdown(wait=False)
        return turns

    def _tried(self, turns: list[Future[Pipeline]], some: list[Input]) -> list[Result]:
        """By the engine whose turn it is, or by the plain one where that cannot; then it has no turn any more."""
        turn = turns[0]
        try:
            made = turn.result()
            results = made.predict(some[:WARM])
            began = time.perf_counter()
            results += made.predict(some[WARM:])
            rate = len(some[WARM:]) / (time.perf_counter() - began)
        except RegardError:
            # Where this one cannot either, that is no fault of the engine's, which stays.
            results = self._plain.predict(some)
            turns.remove(turn)
            return results
        # A rest says little of an engine.
        if len(some) == SAMPLE:
            turns.remove(turn)
            self._found.append(Way(made, rate))
        return results


def fastest(pipeline: Pipeline, rows: Sequence[Input]) -> Pipeline:
    """The pipeline with the engine that predicts some of these rows fastest; as it is where all take no time."""
    sample, began = rows[:SAMPLE], time.perf_counter()
    try:
        pipeline.predict(sample)
    except RegardError:
        # Whoever predicts says what is wrong with an input.
        return pipeline
    if (time.perf_counter() - began) * len(rows) <= PATIENCE * len(sample):
        return pipeline
    found = ways(pipeline, sample)
    return found[0].pipeline if found else pipeline
