"""A batch of sources on its way, each followed on its own tracks; those that are done leave it."""

from collections.abc import Collection, Iterator, Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.decode.blocks import pairs
from regard.decode.candidates import Step
from regard.decode.canonical import Canonical
from regard.decode.coverage import Coverage, Looking
from regard.decode.hypotheses import Ended, Hypothesis, Live, Pieces, Request
from regard.decode.methods import SEARCHES
from regard.decode.requests import check_looking, check_must, check_requests, check_sources, unpadded, unwritten
from regard.decode.searchers import alone
from regard.decode.settings import SearchSettings
from regard.decode.sought import Sought, forced
from regard.decode.trace import begun
from regard.models.protocols import Decoder


class Following:
    """One source on its way: what is sought from it, its tracks, and its place in the batch."""

    def __init__(self, sought: Sought, place: int) -> None:
        self.sought, self.place = sought, place
        self.tracks = SEARCHES[sought.settings.method](sought, place)
        self.outputs: list[Hypothesis] = []
        self.trace = begun(sought)

    @property
    def live(self) -> list[Live]:
        if len(self.tracks) == 1:
            return self.tracks[0].live
        return [one for track in self.tracks for one in track.live]

    @property
    def ended(self) -> list[Ended]:
        found = [each for track in self.tracks for each in track.ended]
        if any(track.repeats for track in self.tracks):
            return found
        return list({(each.pieces, each.complete): each for each in found}.values())

    def advance(self, step: Step, length: int) -> None:
        """Grow every track by a piece: the one that was asked for, or the one it chooses."""
        prefix = self.sought.request.prefix
        for number, track in enumerate(self.tracks):
            before, ended = track.live, len(track.ended)
            if before and length < len(prefix):
                forced(self.sought, track, step, prefix[length])
            elif before:
                track.advance(step)
            if before and self.trace is not None:
                self.trace.grow(number, track, before, ended, None if length < len(prefix) else step)
        if not self.live:
            self.finish()

    def finish(self) -> None:
        """Settle the outputs: nothing goes on."""
        self.outputs = self.sought.best(self.ended)
        self.sought.canonical.nodes.clear()
        if self.trace is not None:
            self.trace.outputs = self.outputs


class Batch:
    """All sources, step by step."""

    def __init__(
        self,
        model: Decoder,
        source: Int[Tensor, "B S"],
        real: Bool[Tensor, "B S"] | None,
        settings: SearchSettings,
        requests: Sequence[Request] | None = None,
        looking: Looking | None = None,
        banned: Collection[int] = (),
    ) -> None:
        mask = torch.ones_like(source, dtype=torch.bool) if real is None else real
        wishes = [Request()] * len(source) if requests is None else list(requests)
        check_looking(settings, looking)
        pieces = unpadded(source, real)
        check_sources([*map(len, pieces)])
        check_requests(wishes, len(source), model.vocabulary, settings)
        self.model, self.settings, self.looking, self.device = model, settings, looking, source.device
        self.banned, self.length = unwritten(banned, model.vocabulary), settings.penalty
        check_must(wishes, self.banned)
        self.coverage = (
            Coverage(looking, settings.coverage, mask) if looking is not None and settings.coverage else None
        )
        self.everyone = [self._following(row, *given) for row, given in enumerate(zip(pieces, wishes, strict=True))]
        self.state, self.pieces = model.start(source, real)

    def _following(self, place: int, source: Pieces, request: Request) -> Following:
        model = alone(self.model, place)
        canonical = Canonical(model, source, self.device, self.looking, self.settings.coverage)
        end = self.model.vocabulary.end
        return Following(Sought(self.settings, request, source, end, canonical, self.length), place)

    def steps(self) -> Iterator[None]:
        """Go one step at a time until every source has its outputs."""
        alive, length = self.everyone, 0
        while alive:
            step = self._step(alive)
            for following in alive:
                following.advance(step, length)
            length += 1
            alive = self._arranged(alive)
            yield

    def _step(self, alive: Sequence[Following]) -> Step:
        said_RV, self.state = self.model.step(self.pieces, self.state)
        if self.coverage is not None:
            penalties = self.coverage.look()
            for one in (one for following in alive for one in following.live):
                one.coverage = penalties[one.row]
        blocked = [pair for each in alive if each.sought.blocks for pair in pairs(each.live, each.sought.blocks)]
        return Step(said_RV, self._count(alive), self.banned, blocked, self.model.vocabulary.end)

    def _count(self, alive: Sequence[Following]) -> int:
        """How many pieces of a row can matter: a beam of them, one to see the edge, the end, and all that is treated
        apart (wanted pieces, pieces other groups wrote). Who looks on sees a beam of them whatever the method."""
        apart = max(sum(len(s) for entry in each.sought.request.must for s in entry) for each in alive)
        alone = self.settings.method in ("greedy", "sample") and alive[0].trace is None
        return (1 if alone else self.settings.beams * (2 if self.settings.method == "diverse" else 1)) + 2 + apart

    def _arranged(self, alive: Sequence[Following]) -> list[Following]:
        """What is still alive, each hypothesis in a row of its own; a source with fewer than others repeats one."""
        lives = [(following, live) for following in alive if (live := following.live)]
        if not lives:
            return []
        width = max(len(live) for _, live in lives)
        filled = [_filled(live, width) for _, live in lives]
        rows = [one.row for live in filled for one in live]
        pieces = [one.pieces[-1] for live in filled for one in live]
        self._select(rows, None if len(lives) == len(alive) else [following.place for following, _ in lives])
        self.pieces = torch.tensor(pieces, device=self.pieces.device)
        for place, (following, live) in enumerate(lives):
            following.place = place
            for row, one in enumerate(live, place * width):
                one.row = row
        return [following for following, _ in lives]

    def _select(self, rows: list[int], sources: list[int] | None) -> None:
        if sources is None and rows == list(range(len(self.pieces))):
            return
        device = self.pieces.device
        rows_R = torch.tensor(rows, device=device)
        self.state = self.state.select(rows_R, None if sources is None else torch.tensor(sources, device=device))
        if self.coverage is not None:
            self.coverage.select(rows_R)


def _filled(live: list[Live], width: int) -> list[Live]:
    return live + live[:1] * (width - len(live))
