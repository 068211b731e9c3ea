"""Beam search, greedy search (one beam) and diverse beam search (beams in groups)."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from regard.decode.candidates import Step
from regard.decode.constraints import shares
from regard.decode.hypotheses import Candidate, Ended, Live
from regard.decode.sought import Sought, Track
from regard.decode.ties import Pool, widened


class Diversity:
    """diversity x how many earlier groups wrote the piece in this step   (Vijayakumar et al. 2018, Hamming)."""

    def __init__(self, strength: float) -> None:
        self.strength, self.length = strength, 0
        self.written: Counter[int] = Counter()

    def at(self, length: int) -> Callable[[int], float]:
        """The penalty of each piece for hypotheses of this length."""
        if length != self.length:
            self.length, self.written = length, Counter()
        return lambda piece: self.strength * self.written[piece]

    def count(self, live: Sequence[Live]) -> None:
        self.written.update(one.pieces[-1] for one in live)


class Beam:
    """The `size` best hypotheses at every length.

    Of the `size` best candidates of a step those that end are set aside; the best that do not end go on, so that the
    beam stays full. `stop` says when it ends.
    """

    repeats = False

    def __init__(self, sought: Sought, row: int, size: int, diversity: Diversity | None = None) -> None:
        self.sought, self.size, self.diversity = sought, size, diversity
        self.stop: Callable[[Beam], bool] = STOPS[sought.settings.stop]
        self.live: list[Live] = [sought.begin(row)]
        self.ended: list[Ended] = []

    def advance(self, step: Step) -> None:
        before = self.live
        penalty = None if self.diversity is None else self.diversity.at(len(before[0].pieces))
        chosen, end = self._chosen(step, penalty), self.sought.end
        self.ended += [self.sought.ended(each) for each in chosen if each.piece == end]
        self.live = [self.sought.grown(each) for each in chosen if each.piece != end]
        if self.diversity is not None:
            self.diversity.count(self.live)
        self._finish(before)

    def _finish(self, before: list[Live]) -> None:
        """End the track where nothing can go on, the limit is reached, or enough was found."""
        stopped = self.live if self.live and len(self.live[0].pieces) >= self.sought.limit else []
        if not self.live and not self.ended:
            stopped = before
        self.ended += [self.sought.stopped(one) for one in stopped]
        if stopped or (self.live and self.stop(self)):
            self.live = []

    def _chosen(self, step: Step, penalty: Callable[[int], float] | None) -> list[Candidate]:
        """The candidates that end now and those that go on."""
        if self.sought.must is None:
            if penalty is None and self.size == len(self.live) == 1 and (clear := self._clear(step)):
                return [clear]
            # Of those each hypothesis may end once; without a penalty the rest does not come in.
            most = None if penalty is not None else self.size + len(self.live) + 1
            return self._best(step.pool(self.live, penalty, most=most), self.size)
        banks = self._banks(step.pool(self.live, penalty, self.sought.wanted))
        slots = shares({bank: min(len(pool.candidates), self.size) for bank, pool in banks.items()}, self.size)
        return [each for bank, count in slots.items() if count for each in self._best(banks[bank], count)]

    def _clear(self, step: Step) -> Candidate | None:
        """The piece that goes on with the only hypothesis, if it is so far ahead that there is nothing to weigh."""
        live = self.live[0]
        values, piece = step.values[live.row], step.pieces[live.row][0]
        if len(values) < 2 or piece == self.sought.end:
            return None
        score = live.total + values[0]
        margin = widened(self.sought.settings.margin, len(live.pieces) + 1, score)
        return Candidate(score, live, piece, values[0]) if live.total + values[1] < score - margin else None

    def _banks(self, pool: Pool) -> dict[int, Pool]:
        """The candidates by how much they have of what must appear."""
        bank = self.sought.bank
        split: dict[int, list[Candidate]] = {}
        for each in pool.candidates:
            split.setdefault(bank(each), []).append(each)
        return {number: Pool(kept, pool.floor, partial(_of_bank, pool, bank, number)) for number, kept in split.items()}

    def _best(self, pool: Pool, count: int) -> list[Candidate]:
        """The best candidates that end, and the best that go on."""
        end, chosen = self.sought.end, self.sought.chosen(pool, count) if pool.candidates else []
        ending = [each for each in chosen if each.piece == end]
        if not ending:
            return chosen
        going = pool.filtered(lambda each: each.piece != end)
        return ending + self.sought.chosen(going, count) if going.candidates else chosen


def _of_bank(pool: Pool, bank: Callable[[Candidate], int], number: int, low: float) -> list[Candidate]:
    return [each for each in pool.above(low) if bank(each) == number]


def enough(beam: Beam) -> bool:
    """As many complete hypotheses as there are beams."""
    return sum(each.complete for each in beam.ended) >= beam.size


def surely_done(beam: Beam) -> bool:
    """Nothing alive can beat the last of the `best` complete ones.

    Log-probabilities are at most zero, so a hypothesis never does better than to lose nothing more and, where length is
    rewarded, to grow to the limit. Within the margin the search goes on, which may find nothing but loses nothing.
    """
    settings = beam.sought.settings
    scores = sorted((each.score for each in beam.ended if each.complete), reverse=True)
    if len(scores) < settings.best:
        return False
    best = max(beam.live, key=lambda one: one.total)
    reach = beam.sought.length.bound(best.total, beam.sought.limit)
    return reach < scores[settings.best - 1] - widened(settings.margin, len(best.pieces), best.total)


STOPS: dict[str, Callable[[Beam], bool]] = {
    "first": enough,
    "sure": surely_done,
}


def greedily(sought: Sought, row: int) -> list[Track]:
    """One beam that ends when its likeliest piece is the end."""
    track = Beam(sought, row, 1)
    track.stop = enough
    return [track]


def by_beam(sought: Sought, row: int) -> list[Track]:
    return [Beam(sought, row, sought.settings.beams)]


def by_groups(sought: Sought, row: int) -> list[Track]:
    """Beams in groups, each of which keeps away from what the ones before it write."""
    settings = sought.settings
    diversity = Diversity(settings.diversity)
    groups = settings.count_of_groups
    return [Beam(sought, row, settings.beams // groups, diversity) for _ in range(groups)]
