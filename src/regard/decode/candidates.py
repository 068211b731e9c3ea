"""What one step of the batch offers each hypothesis, without a loop over the vocabulary."""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from operator import attrgetter

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.blocks import allowed
from regard.decode.hypotheses import Candidate, Live
from regard.decode.ties import Pool
from regard.errors import ModelError
from regard.nn import native

BLOCK = 64
# So many are kept in order one by one.
FEW = 64


def top(scores: Float[Tensor, "R V"], count: int) -> tuple[Float[Tensor, "R K"], Int[Tensor, "R K"]]:
    """The `count` highest scores of every row and where they stand, highest first.

    They lie in the `count` blocks with the highest peaks, so only those are sorted: a few times faster than torch's.
    """
    rows, size = scores.shape
    if count <= FEW and count < size and native.serves(scores):
        values_RK, pieces_RK, broken = native.top(scores, count)
        return (values_RK, pieces_RK) if broken < 0 else _checked(*scores.topk(count))
    blocks = size // BLOCK
    if count >= blocks:
        return _checked(*scores.topk(min(count, size)))
    whole = blocks * BLOCK
    blocks_RCX = scores[:, :whole].unflatten(1, (blocks, BLOCK))
    best_RK = blocks_RCX.amax(-1).topk(count).indices
    inside_RKX = blocks_RCX.gather(1, best_RK[..., None].expand(-1, -1, BLOCK))
    at_RKX = best_RK[..., None] * BLOCK + torch.arange(BLOCK, device=scores.device)
    rest = torch.arange(whole, size, device=scores.device).expand(rows, -1)
    values_RK, found_RK = torch.cat([inside_RKX.flatten(1), scores[:, whole:]], dim=1).topk(count)
    return _checked(values_RK, torch.cat([at_RKX.flatten(1), rest], dim=1).gather(1, found_RK))


def _checked(values: Float[Tensor, "R K"], pieces: Int[Tensor, "R K"]) -> tuple[Tensor, Tensor]:
    """Where there is a NaN it is among the highest: peaks and sorting put it first."""
    if bool(values.isnan().any()):
        row = int(values.isnan().any(1).nonzero()[0])
        piece = int(pieces[row][values[row].isnan()][0])
        raise ModelError(
            f"The model's log-probability of piece {piece} in row {row} of the batch is not a number; a parameter or "
            "an input of the model is NaN or infinite. Check the checkpoint."
        )
    return values, pieces


class Step:
    """One step: what the model said, and what of it may be chosen.

    `banned` pieces may never be, of each row those of its pairs in `blocked`; where that is everything, a text may end.
    """

    def __init__(
        self,
        said: Float[Tensor, "R V"],
        count: int,
        banned: Sequence[int] = (),
        blocked: Sequence[tuple[int, int]] = (),
        end: int = 0,
    ) -> None:
        self.said, self._given = said, (banned, blocked, end)
        self.values: list[list[float]]
        self.pieces: list[list[int]]
        # A few more than wanted are found as fast, and spare a copy of everything said.
        spare = len(banned) if not blocked and len(banned) <= count and count + len(banned) < said.shape[1] else 0
        values_RK, pieces_RK = top(said if spare else self.allowed, count + spare)
        self.complete = values_RK.shape[1] == said.shape[1]
        self.values, self.pieces = values_RK.tolist(), pieces_RK.tolist()
        if spare:
            self._drop(frozenset(banned), count)

    @cached_property
    def allowed(self) -> Float[Tensor, "R V"]:
        """The scores with -infinity at what may not be chosen."""
        return allowed(self.said, *self._given)

    def _drop(self, banned: frozenset[int], count: int) -> None:
        for row, pieces in enumerate(self.pieces):
            if not banned.isdisjoint(pieces):
                kept = [
                    (value, piece) for value, piece in zip(self.values[row], pieces, strict=True) if piece not in banned
                ]
                self.values[row], self.pieces[row] = [value for value, _ in kept], [piece for _, piece in kept]
            del self.values[row][count:], self.pieces[row][count:]

    def pool(
        self,
        live: Sequence[Live],
        penalty: Callable[[int], float] | None = None,
        wanted: Callable[[Live], Collection[int]] | None = None,
        most: int | None = None,
    ) -> Pool:
        """What may follow these hypotheses: the likeliest pieces and the wanted ones, less a penalty for each piece.

        If only the `most` best matter, and those that score the same, no others are looked at.
        """
        floor = -torch.inf if self.complete else max(one.total + self.values[one.row][-1] for one in live)
        low = -torch.inf
        if most is not None and len(live) > 1:
            scores = sorted([one.total + value for one in live for value in self.values[one.row]], reverse=True)
            if len(scores) > most:
                low, floor = scores[most - 1], max(floor, scores[most])
        found = [
            Candidate(score, one, piece, value)
            for one in live
            for value, piece in zip(self.values[one.row], self.pieces[one.row], strict=True)
            if (score := one.total + value) >= low
        ]
        if wanted is not None:
            found += [each for one in live for each in self._at(one, wanted(one), self.pieces[one.row])]
        return Pool(_ordered(found, penalty), floor, lambda low: self._above(live, penalty, low))

    def _at(self, one: Live, pieces: Collection[int], known: Collection[int] = ()) -> list[Candidate]:
        """These pieces after this hypothesis, without the known ones."""
        pieces = sorted(set(pieces) - set(known))
        values = self.allowed[one.row, torch.tensor(pieces, dtype=torch.long, device=self.allowed.device)].tolist()
        return [Candidate(one.total + value, one, piece, value) for value, piece in zip(values, pieces, strict=True)]

    def _above(self, live: Sequence[Live], penalty: Callable[[int], float] | None, low: float) -> list[Candidate]:
        found: list[Candidate] = []
        for one in live:
            likely = (self.allowed[one.row].double() >= low - one.total).nonzero()[:, 0]
            found += self._at(one, likely.tolist())
        return [each for each in _ordered(found, penalty) if each.score >= low]


def _ordered(found: list[Candidate], penalty: Callable[[int], float] | None) -> list[Candidate]:
    """What is possible at all, best first."""
    if penalty is not None:
        found = [_punished(each, penalty(each.piece)) for each in found]
    found.sort(key=attrgetter("score"), reverse=True)
    while found and found[-1].score == -torch.inf:
        found.pop()
    return found


def _punished(candidate: Candidate, penalty: float) -> Candidate:
    return candidate._replace(score=candidate.score - penalty, penalty=penalty) if penalty else candidate
