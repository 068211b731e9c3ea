"""Batches of examples of like length under a budget of tokens, in an order that only the seed and the epoch decide.

An epoch is a global shuffle of its examples, cut into windows. Inside a window examples are put beside others of
their length, cut into batches, and the batches shuffled. A window is planned when it is reached, from the lengths on
disk: memory does not grow with the corpus, and going on in the middle of the tenth epoch costs what starting does.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, Integer
from pydantic import Field

from regard.config import Settings
from regard.data.packing import by_length, cuts, padded_tokens
from regard.data.shuffling import Mixture, key, shuffled
from regard.errors import ConfigError, DataError


class BatchSettings(Settings):
    """How batches are made."""

    # The most padded tokens a batch may have: rows x (longest source + longest target + ...).
    tokens: int = Field(default=4096, ge=1)
    # The most rows it may have, if that matters too.
    rows: int | None = Field(default=None, ge=1)
    # Examples with a longer column are left out and counted; by default none is.
    longest: int | None = Field(default=None, ge=1)
    # How many examples are put in order of length together.
    window: int = Field(default=2**17, ge=1)


class Position(Settings):
    """A place in the endless order of batches; the start of a run unless told otherwise."""

    epoch: int = Field(default=0, ge=0)
    window: int = Field(default=0, ge=0)
    batch: int = Field(default=0, ge=0)


class Batch(NamedTuple):
    """The numbers of the examples in a batch, and where to go on after it."""

    examples: Int64[np.ndarray, " B"]
    next: Position


class Plan(NamedTuple):
    """The batches of a window in their order, and how much of them is padding."""

    batches: list[Int64[np.ndarray, " _"]]
    tokens: int
    padded: int
    left_out: int
    oversized: int


@dataclass(frozen=True)
class Report:
    """What one epoch of batches comes to."""

    batches: int
    examples: int
    tokens: int
    padded: int
    # Examples longer than `longest`, which no batch has.
    left_out: int
    # Examples that alone have more tokens than a batch may; each is a batch of its own.
    oversized: int

    @property
    def waste(self) -> float:
        """The share of padding in all that is computed."""
        return 1 - self.tokens / self.padded if self.padded else 0.0


class Batches:
    """The batches of one or several corpora, given by the lengths of their examples (a column each).

    Of `ways` neighbours in a table, which are one example in several ways, an epoch has one (see `Mixture`).
    """

    def __init__(
        self,
        lengths: Sequence[Integer[np.ndarray, "_ C"]],
        settings: BatchSettings,
        seed: int,
        weights: Sequence[float] | None = None,
        ways: int = 1,
    ):
        if not lengths or not all(len(table) for table in lengths):
            raise DataError("There is nothing to make batches of: a corpus has no examples.")
        if weights is not None and len(weights) != len(lengths):
            raise ConfigError(f"{len(weights)} weights for {len(lengths)} corpora; give one for each.")
        self.lengths = list(lengths)
        self.settings = settings
        self.seed = seed
        sizes = [len(table) // ways for table in lengths]
        self.mixture = Mixture(sizes, weights or [1.0] * len(lengths), seed, ways)
        self.windows = math.ceil(len(self.mixture) / settings.window)

    def walk(self, start: Position | None = None) -> Iterator[Batch]:
        """Batches without end, epoch after epoch, from a position on."""
        start = start or Position()
        if start.window >= self.windows:
            raise self._lost(start)
        yield from self._window(start.epoch, start.window, start.batch)
        for window in range(start.window + 1, self.windows):
            yield from self._window(start.epoch, window)
        for epoch in count(start.epoch + 1):
            yield from self.epoch(epoch)

    def epoch(self, number: int = 0) -> Iterator[Batch]:
        """The batches of one epoch."""
        batches = chain.from_iterable(self._window(number, window) for window in range(self.windows))
        first = next(batches, None)
        if first is None:
            raise DataError(f"No example has at most {self.settings.longest} tokens a column; raise longest.")
        yield from chain([first], batches)

    def plan(self, epoch: int, window: int) -> Plan:
        """The batches of one window: the same whenever and wherever they are asked for."""
        examples, lengths, left_out = self._taken(epoch, window)
        batches, padded = self._packed(examples, lengths, key(self.seed, "batches", epoch, window))
        oversized = int((lengths.sum(1) > self.settings.tokens).sum())
        return Plan(batches, int(lengths.sum()), padded, left_out, oversized)

    def report(self, epoch: int = 0) -> Report:
        """What an epoch comes to, found by planning all of it."""
        plans = [self.plan(epoch, window) for window in range(self.windows)]
        batches, tokens, padded, left_out, oversized = (
            sum(len(value) if isinstance(value, list) else value for value in values)
            for values in zip(*plans, strict=True)
        )
        return Report(batches, len(self.mixture) - left_out, tokens, padded, left_out, oversized)

    def _window(self, epoch: int, window: int, first: int = 0) -> Iterator[Batch]:
        batches = self.plan(epoch, window).batches
        if first and first >= len(batches):
            raise self._lost(Position(epoch=epoch, window=window, batch=first))
        last = self._after(epoch, window) if first < len(batches) else (epoch, window, 0)
        for number in range(first, len(batches)):
            after = (epoch, window, number + 1) if number + 1 < len(batches) else last
            yield Batch(batches[number], Position(epoch=after[0], window=after[1], batch=after[2]))

    def _after(self, epoch: int, window: int) -> tuple[int, int, int]:
        """Where the next window begins that has a batch, or the next epoch: who counts epochs must not be told late."""
        following = range(window + 1, self.windows)
        found = next((one for one in following if self._any(epoch, one)), None)
        return (epoch + 1, 0, 0) if found is None else (epoch, found, 0)

    def _any(self, epoch: int, window: int) -> bool:
        return self.settings.longest is None or len(self._taken(epoch, window)[0]) > 0

    def _taken(self, epoch: int, window: int) -> tuple[Int64[np.ndarray, " N"], Int64[np.ndarray, "N C"], int]:
        """The examples of a window that are short enough, their lengths, and how many are not."""
        first, last = (len(self.mixture) * edge // self.windows for edge in (window, window + 1))
        examples = self.mixture.examples(epoch, np.arange(first, last))
        lengths = self._lengths(examples)
        if self.settings.longest is not None:
            short = lengths.max(1) <= self.settings.longest
            examples, lengths = examples[short], lengths[short]
        return examples, lengths, last - first - len(examples)

    def _packed(
        self, examples: Int64[np.ndarray, " N"], lengths: Int64[np.ndarray, "N C"], key: int
    ) -> tuple[list[Int64[np.ndarray, " _"]], int]:
        """The examples as shuffled batches, and how many tokens those have with padding."""
        if not len(examples):
            return [], 0
        order = by_length(lengths, self.settings.tokens)
        ends = cuts(lengths[order], self.settings.tokens, self.settings.rows)
        batches = np.split(examples[order], ends[:-1])
        shuffle = shuffled(np.arange(len(batches)), len(batches), key).tolist()
        return [batches[number] for number in shuffle], padded_tokens(lengths[order], ends)

    def _lengths(self, examples: Int64[np.ndarray, " N"]) -> Int64[np.ndarray, "N C"]:
        corpora = np.searchsorted(self.mixture.starts, examples, side="right") - 1
        found = np.empty((len(examples), self.lengths[0].shape[1]), np.int64)
        for corpus, table in enumerate(self.lengths):
            mine = corpora == corpus
            found[mine] = table[examples[mine] - self.mixture.starts[corpus]]
        return found

    def _lost(self, position: Position) -> DataError:
        return DataError(
            f"There is no batch {position.batch} in window {position.window} of epoch {position.epoch}: "
            "the data or the batch settings are not those the position was saved with."
        )


def share(examples: Int64[np.ndarray, " B"], rank: int, processes: int) -> Int64[np.ndarray, " _"]:
    """The part of a batch that one of several processes works on: every n-th row, so that lengths are spread evenly.

    Each row belongs to exactly one process. In a batch of fewer rows than processes some get none; they must take part
    in the step all the same.
    """
    if not 0 <= rank < processes:
        raise ConfigError(f"rank = {rank}: it must be at least 0 and below the number of processes, {processes}.")
    return examples[rank::processes]
