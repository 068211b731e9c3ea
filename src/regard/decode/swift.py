"""A batch of beams of which nothing is asked but the best: the kernels choose, in one call for all sources.

They settle only what rounding cannot have decided. Everything else, and every source that comes to its limit, is left
to its own `Beam`, so that what is found is the same with and without them.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.batch import Batch, Following
from regard.decode.candidates import FEW, Step
from regard.decode.hypotheses import Candidate, Live, Request
from regard.decode.searchers import walk_of
from regard.decode.settings import SearchSettings
from regard.decode.ties import EASY
from regard.decode.trace import traced
from regard.models.protocols import Decoder
from regard.nn import native

Grown = tuple[int, int, float, float]
"""A hypothesis that goes on or ends: the row it comes from, its next piece, that piece's log-probability, its sum."""


Written = tuple[list[int], list[int], list[float]]
"""A step, of each row after it: the row it came from, its piece and its log-probability."""


class Choices:
    """What the kernels chose, source by source."""

    def __init__(self, chosen: native.Chosen, size: int) -> None:
        self.chosen, self.size = chosen, size
        self.going, self.ending = chosen.going.tolist(), chosen.ending.tolist()

    @property
    def even(self) -> bool:
        """Whether every source goes on with all of its beams, and nothing has ended."""
        return self.going == [self.size] * len(self.going) and not any(self.ending)

    def of(self, source: int) -> tuple[list[Grown], list[Grown]]:
        """What goes on and what ends."""
        (going, ending), first = self._told, source * self.size
        return going[first : first + self.going[source]], ending[first : first + self.ending[source]]

    @cached_property
    def _told(self) -> tuple[list[Grown], ...]:
        """All places, those of what goes on and those of what ends; not all are filled."""
        columns = (self.chosen.rows, self.chosen.pieces, self.chosen.values, self.chosen.sums)
        return tuple(list(zip(*both, strict=True)) for both in zip(*(each.tolist() for each in columns), strict=True))


class Swift(Batch):
    """All sources, step by step, their hypotheses in columns; where one comes from is looked up when it ends."""

    def steps(self) -> Iterator[None]:
        alive, size, count = self.everyone, _size(self.settings), len(self.everyone)
        banned = torch.tensor(self.banned, dtype=torch.int64)
        self.rules = native.Rules(size, self.model.vocabulary.end, banned, self.settings.margin, EASY)
        self.before = native.Hypotheses(torch.zeros(count, dtype=torch.float64), *_counts([1] * count, [0] * count))
        self.nearest, self.readable = _nearest(alive), False
        self.written: list[Written] = []
        while alive:
            if (left := self._walked(alive)) is None:
                said_RV, self.state = self.model.step(self.pieces, self.state)
                left = self._grown(alive, said_RV)
            alive = left
            yield

    def _walked(self, alive: list[Following]) -> list[Following] | None:
        """What is still alive after as many steps as the model can take without being asked; None: it cannot."""
        walk, length, size = walk_of(self.model), len(self.written) + 1, self.rules.size
        most, full = self.nearest - length, len(self.before.totals) == len(alive) * size
        if walk is None or not self.readable or most < 1 or not full:
            return None
        walked = walk(self.pieces, self.state, (self.before, self.rules, length, most))
        if walked is None:
            return None
        steps, self.state = walked
        left = self._went(alive, steps)
        self.before, self.pieces = steps.after, steps.last
        if not left or steps.said is None:
            return left
        return self._one_by_one(left, steps.said, steps.chosen and Choices(steps.chosen, size))

    def _went(self, alive: list[Following], steps: native.Steps) -> list[Following]:
        """Takes down what was written and what ended on the way; gives what is still alive."""
        endings = list(zip(*(each.tolist() for each in steps.endings), strict=True))
        first = len(self.written)
        self.written += zip(steps.rows.tolist(), steps.pieces.tolist(), steps.values.tolist(), strict=True)
        for step, source, row, before, value in endings:
            (track,), sought = alive[source].tracks, alive[source].sought
            parent = self._traced(row, first + step, before)
            track.ended.append(sought.ended(Candidate(before + value, parent, self.rules.end, value)))
        numbers = steps.left.tolist()
        if len(numbers) == len(alive):
            return alive
        for number in sorted(set(range(len(alive))) - set(numbers)):
            alive[number].finish()
        left = [alive[number] for number in numbers]
        if left:
            # Rows have moved already.
            self.state = self.state.select(torch.arange(len(steps.last)), steps.left)
            self.nearest = _nearest(left)
        return left

    def _grown(self, alive: list[Following], said: Float[Tensor, "R V"]) -> list[Following]:
        length = len(self.written) + 1
        # What is true of the first step is true of all.
        self.readable = native.serves(said) if length == 1 else self.readable
        found = native.choose(said, self.before, length, self.rules) if self.readable else None
        choices = None if found is None else Choices(found, self.rules.size)
        if found is None or choices is None or not choices.even or length >= self.nearest:
            return self._one_by_one(alive, said, choices)
        rows, pieces, values, totals = (each[0] for each in found[2:])
        self.before = native.Hypotheses(totals, found.going, self.before.ended)
        self._go_on((rows.tolist(), pieces.tolist(), values.tolist()), pieces, None)
        return alive

    def _one_by_one(
        self, alive: list[Following], said: Float[Tensor, "R V"], choices: Choices | None
    ) -> list[Following]:
        """What is still alive, where sources differ in how they go on."""
        step = None
        places, grown = [], []
        for place, following in enumerate(alive):
            at_limit = len(self.written) + 1 >= following.sought.limit
            if choices is None or choices.going[place] == native.OPEN or at_limit:
                step = step or Step(said, self._count(alive), self.banned, (), self.model.vocabulary.end)
                going = self._chosen_by_itself(place, following, step)
            else:
                going, ending = choices.of(place)
                self._end(following, ending)
            if going:
                places.append(place)
                grown.append(going)
            else:
                following.finish()
        left = [alive[place] for place in places]
        if left:
            self._arrange(left, grown, None if len(left) == len(alive) else places)
        return left

    def _chosen_by_itself(self, place: int, following: Following, step: Step) -> list[Grown]:
        (track,), width = following.tracks, len(self.before.totals) // len(self.before.live)
        first, count = place * width, int(self.before.live[place])
        track.live = [self._live(row) for row in range(first, first + count)]
        track.advance(step)
        return [(one.row, one.pieces[-1], one.log_probabilities[-1], one.total) for one in track.live]

    def _end(self, following: Following, ending: list[Grown]) -> None:
        (track,), sought = following.tracks, following.sought
        for row, piece, value, total in ending:
            track.ended.append(sought.ended(Candidate(total, self._live(row), piece, value)))

    def _live(self, row: int) -> Live:
        """The hypothesis that stands in a row."""
        return self._traced(row, len(self.written), float(self.before.totals[row]))

    def _traced(self, row: int, length: int, total: float) -> Live:
        """The hypothesis that stood in a row when it had this length, put together from where it came."""
        pieces: list[int] = []
        values: list[float] = []
        at = row
        for rows, written, told in reversed(self.written[:length]):
            pieces.append(written[at])
            values.append(told[at])
            at = rows[at]
        return Live(tuple(pieces[::-1]), tuple(values[::-1]), total, row)

    def _arrange(self, alive: list[Following], grown: list[list[Grown]], sources: list[int] | None) -> None:
        """Every hypothesis in a row of its own; a source with fewer than others repeats one."""
        width, self.nearest = max(map(len, grown)), _nearest(alive)
        filled = chain.from_iterable(going + going[:1] * (width - len(going)) for going in grown)
        rows, pieces, values, totals = map(list[Any], zip(*filled, strict=True))
        counts = _counts([len(going) for going in grown], [len(following.tracks[0].ended) for following in alive])
        self.before = native.Hypotheses(torch.tensor(totals, dtype=torch.float64), *counts)
        self._go_on((rows, pieces, values), torch.tensor(pieces), sources)

    def _go_on(self, written: Written, pieces: Int[Tensor, " R"], sources: list[int] | None) -> None:
        self.written.append(written)
        self._select(written[0], sources)
        self.pieces = pieces


def _nearest(alive: list[Following]) -> int:
    """The first limit that will be reached."""
    return min(following.sought.limit for following in alive)


def _counts(*each: list[int]) -> Iterator[Tensor]:
    return (torch.tensor(counts, dtype=torch.int64) for counts in each)


def _size(settings: SearchSettings) -> int:
    return 1 if settings.method == "greedy" else settings.beams


def plain(
    model: Decoder, settings: SearchSettings, requests: Sequence[Request] | None, banned: Collection[int]
) -> bool:
    """Whether the kernels can choose: the best and nothing else is asked, nobody looks on, and there are kernels."""
    usual = settings.method == "greedy" or (settings.method == "beam" and settings.stop == "first")
    free = not settings.coverage and not settings.no_repeat and not traced()
    asked = any(request.prefix or request.must or request.avoid for request in requests or ())
    # What begins a text is banned too.
    few = _size(settings) + 2 + len(banned) + 1 <= min(FEW, model.vocabulary.target - 1)
    return usual and free and not asked and few and native.ready()
