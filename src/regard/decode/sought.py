"""One source while it is searched: what was asked for it, and the tracks on which its hypotheses grow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from regard.decode.blocks import Avoid, Block, NoRepeat, Unmet, Whole
from regard.decode.candidates import Step
from regard.decode.canonical import Canonical
from regard.decode.constraints import Must
from regard.decode.hypotheses import Candidate, Ended, Hypothesis, Live, Pieces, Request
from regard.decode.lengths import Length
from regard.decode.settings import SearchSettings
from regard.decode.ties import Pool, choose, ranked, widened


@dataclass
class Sought:
    """What is looked for from one source, and how finds are judged."""

    settings: SearchSettings
    request: Request
    source: Pieces
    end: int
    canonical: Canonical
    length: Length

    def __post_init__(self) -> None:
        settings, request = self.settings, self.request
        computed = max(settings.limit(len(self.source)), len(request.prefix) + 1)
        self.limit = computed if request.longest is None else request.longest
        self.must = Must(request.must) if request.must else None
        self.blocks: list[Block] = [
            *([Avoid(request.avoid)] if request.avoid else []),
            *([NoRepeat(settings.no_repeat, request.before)] if settings.no_repeat else []),
            *([Unmet(self.end)] if request.must else []),
            *([Whole(request.must, request.inside)] if request.must and request.inside else []),
        ]

    def begin(self, row: int) -> Live:
        return Live((), (), 0.0, row, None if self.must is None else self.must.begin())

    def grown(self, candidate: Candidate) -> Live:
        """The hypothesis with its next piece."""
        if self.must is None or candidate.parent.progress is None:
            return candidate.grown()
        return candidate.grown(self.must.after(candidate.parent.progress, candidate.piece))

    def wanted(self, live: Live) -> set[int]:
        """The pieces of what must still appear."""
        return set() if self.must is None or live.progress is None else self.must.wanted(live.progress)

    def bank(self, candidate: Candidate) -> int:
        """How much a candidate has of what must appear."""
        progress = candidate.parent.progress
        if self.must is None or progress is None:
            return 0
        return self.must.bank(progress if candidate.piece == self.end else self.must.after(progress, candidate.piece))

    def ended(self, candidate: Candidate) -> Ended:
        """The hypothesis with its end."""
        parent = candidate.parent
        known = (*parent.log_probabilities, candidate.log_probability)
        score = self.length.score(parent.total + candidate.log_probability, len(known)) + parent.coverage
        return Ended(score, parent.pieces, known, True)

    def stopped(self, live: Live) -> Ended:
        """The hypothesis cut where it stands."""
        score = self.length.score(live.total, len(live.pieces)) + live.coverage
        return Ended(score, live.pieces, live.log_probabilities, False)

    def chosen(self, pool: Pool, count: int) -> list[Candidate]:
        """The best candidates, whatever rounding did to their sums."""
        edge = pool.candidates[min(count, len(pool.candidates)) - 1]
        margin = widened(self.settings.margin, len(edge.parent.pieces) + 1, edge.score)
        return choose(pool, count, self.truth, margin)

    def truth(self, candidate: Candidate) -> float:
        """The canonical number of what a candidate is chosen by."""
        return self.canonical.total(candidate.pieces) - candidate.penalty

    def true_score(self, ended: Ended) -> float:
        """The canonical number of what an output is ranked by."""
        pieces = (*ended.pieces, self.end) if ended.complete else ended.pieces
        return self.length.score(self.canonical.total(pieces), len(pieces)) + self.canonical.coverage(pieces[:-1])

    def met(self, pieces: Pieces) -> tuple[bool, ...]:
        return () if self.must is None else self.must.appeared(pieces)

    def best(self, ended: Sequence[Ended]) -> list[Hypothesis]:
        """The outputs in order: complete ones first, then those in which more of what must appear did."""
        classes: dict[tuple[bool, int], list[Ended]] = {}
        for each in ended:
            classes.setdefault((each.complete, sum(self.met(each.pieces))), []).append(each)
        order: list[Ended] = []
        for kind in sorted(classes, reverse=True):
            left = self.settings.best - len(order)
            order += self._ranked(classes[kind], left) if left else []
        return [self._told(each) for each in order]

    def _ranked(self, ended: list[Ended], best: int) -> list[Ended]:
        first = max(ended, key=lambda each: each.score)
        longest = max(len(each.log_probabilities) for each in ended)
        margin = widened(self.settings.margin, longest, sum(first.log_probabilities))
        return ranked(ended, best, self.true_score, margin)

    def _told(self, each: Ended) -> Hypothesis:
        known = each.log_probabilities
        return Hypothesis(each.pieces, each.score, sum(known), known, each.complete, self.met(each.pieces))


@runtime_checkable
class Track(Protocol):
    """Hypotheses of one source that grow side by side."""

    live: list[Live]
    ended: list[Ended]
    # Whether several tracks that found the same output found it several times: samples do, groups of a beam do not.
    repeats: bool

    def advance(self, step: Step) -> None:
        """Grow by one step; a track without live hypotheses is done."""
        ...


Tracks = Callable[[Sought, int], Sequence[Track]]
"""What a method of search is: the tracks on which it follows one source, beginning in a given row."""


def forced(sought: Sought, track: Track, step: Step, piece: int) -> None:
    """Grow every hypothesis by a piece that was asked for."""
    values = [float(step.said[one.row, piece]) for one in track.live]
    track.live = [
        sought.grown(Candidate(one.total + value, one, piece, value))
        for one, value in zip(track.live, values, strict=True)
    ]
