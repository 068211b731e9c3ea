"""Sampling: every source its own luck, drawn from a seed and its pieces, wherever it stands.

A piece is drawn by adding Gumbel noise to the log-probabilities and taking the highest (Gumbel 1954; the Gumbel-max
trick). Unlike a number dropped among ten thousand boundaries of a cumulative distribution, the highest is almost always
highest by far, so that rounding almost never matters; where it might, canonical numbers decide (see `ties`).
"""

import hashlib
import json
import math
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.decode.candidates import Step
from regard.decode.hypotheses import Candidate, Ended, Live
from regard.decode.settings import SearchSettings
from regard.decode.sought import Sought, Track


class Sample:
    """One sample from one source."""

    repeats = True

    def __init__(self, sought: Sought, row: int, number: int) -> None:
        self.sought = sought
        self.filters = Filters(sought.settings)
        self.random = torch.Generator().manual_seed(seed(sought, number))
        self.live: list[Live] = [sought.begin(row)]
        self.ended: list[Ended] = []

    def advance(self, step: Step) -> None:
        one = self.live[0]
        allowed_V = step.allowed[one.row]
        if bool((allowed_V == -torch.inf).all()):
            self.live, self.ended = [], [self.sought.stopped(one)]
            return
        piece = self._drawn(one, allowed_V)
        value = float(allowed_V[piece])
        candidate = Candidate(one.total + value, one, piece, value)
        if piece == self.sought.end:
            self.live, self.ended = [], [self.sought.ended(candidate)]
            return
        self.live = [self.sought.grown(candidate)]
        if len(self.live[0].pieces) >= self.sought.limit:
            self.live, self.ended = [], [self.sought.stopped(self.live[0])]

    def _drawn(self, one: Live, allowed: Float[Tensor, " V"]) -> int:
        """The piece this step draws; the noise is the same whatever the batch."""
        noise_V = gumbel(allowed.shape[0], self.random).to(allowed.device)
        piece = self.filters.clear_winner(allowed, noise_V)
        if piece is not None:
            return piece
        truth_V = self.sought.canonical.after(one.pieces).masked_fill(allowed == -torch.inf, -torch.inf)
        return self.filters.winner(truth_V, noise_V)


class Bounds(NamedTuple):
    """Pieces that pass a filter whatever rounding did, and pieces that may pass it."""

    surely: Bool[Tensor, " V"]
    perhaps: Bool[Tensor, " V"]


class Filters:
    """Temperature, and who may be drawn after it: top_k, top_p and min_p, each on the whole distribution."""

    def __init__(self, settings: SearchSettings) -> None:
        self.settings = settings
        # A low temperature stretches rounding as it stretches everything else.
        self.margin = settings.margin * max(1.0, 1.0 / settings.temperature)

    def winner(self, scores: Float[Tensor, " V"], noise: Float[Tensor, " V"]) -> int:
        """The piece drawn from exact scores; of equals the lower number."""
        tempered_V = self._tempered(scores)
        perturbed_V = (tempered_V + noise).masked_fill(~self._bounds(tempered_V, 0.0).surely, -torch.inf)
        return int((perturbed_V == perturbed_V.max()).nonzero()[0])

    def clear_winner(self, scores: Float[Tensor, " V"], noise: Float[Tensor, " V"]) -> int | None:
        """The piece drawn, unless rounding could have decided it: by a narrow win, or at the edge of a filter."""
        tempered_V = self._tempered(scores)
        bounds = self._bounds(tempered_V, self.margin)
        values, pieces = (tempered_V + noise).masked_fill(~bounds.perhaps, -torch.inf).topk(min(2, len(scores)))
        clear = len(values) == 1 or float(values[0] - values[1]) > self.margin
        return int(pieces[0]) if clear and bool(bounds.surely[pieces[0]]) else None

    def _tempered(self, scores: Float[Tensor, " V"]) -> Float[Tensor, " V"]:
        return (scores.double() / self.settings.temperature).log_softmax(-1)

    def _bounds(self, tempered: Float[Tensor, " V"], margin: float) -> Bounds:
        everything = tempered > -torch.inf
        found = [Bounds(everything, everything)]
        if self.settings.top_k is not None and self.settings.top_k < len(tempered):
            found.append(most_likely(tempered, self.settings.top_k, margin))
        if self.settings.top_p < 1.0:
            found.append(nucleus(tempered, self.settings.top_p, margin))
        if self.settings.min_p > 0.0:
            found.append(near_the_best(tempered, self.settings.min_p, margin))
        surely, perhaps = zip(*found, strict=True)
        return Bounds(torch.stack(surely).all(0), torch.stack(perhaps).all(0))


def most_likely(scores: Float[Tensor, " V"], count: int, margin: float) -> Bounds:
    """The `count` highest, and all equal to the last of them   (Fan et al. 2018)."""
    last, next_ = scores.topk(count + 1).values[-2:].tolist()
    perhaps = scores >= last - margin
    return Bounds(perhaps if margin == 0.0 else scores > next_ + margin, perhaps)


def near_the_best(scores: Float[Tensor, " V"], share: float, margin: float) -> Bounds:
    """At least this share of the highest probability   (Nguyen et al. 2024)."""
    lowest = float(scores.max()) + math.log(share)
    return Bounds(scores >= lowest + margin, scores >= lowest - margin)


def nucleus(scores: Float[Tensor, " V"], share: float, margin: float) -> Bounds:
    """All that have less than this share of probability before them, equals not counted   (Holtzman et al. 2020).

    Whether a score passes depends on nothing but the score, and where one does, all higher ones do: the lowest is found
    by halving, which spares asking for every piece of a large vocabulary.
    """
    falling_V = np.sort(scores.detach().cpu().numpy())[::-1]
    rising_V = -falling_V
    # before[i]: the probability of the i highest.
    before = np.concatenate([np.zeros(1), np.exp(falling_V).cumsum()])

    def clearly_higher(score: float) -> float:
        return float(before[np.searchsorted(rising_V, -score - margin)])

    def not_clearly_lower(score: float) -> float:
        return float(before[np.searchsorted(rising_V, -score + margin, side="right")]) - math.exp(score)

    perhaps = scores >= lowest(falling_V, lambda score: clearly_higher(score) < share + margin)
    if margin == 0.0:
        return Bounds(perhaps, perhaps)
    return Bounds(scores >= lowest(falling_V, lambda score: not_clearly_lower(score) < share - margin), perhaps)


def lowest(falling: Float[np.ndarray, " V"], passes: Callable[[float], bool]) -> float:
    """The lowest score that passes where all higher ones do; infinity where none does."""
    count = bisect_left(range(len(falling)), True, key=lambda place: not passes(float(falling[place])))
    return float(falling[count - 1]) if count else math.inf


def gumbel(size: int, random: torch.Generator) -> Float[Tensor, " V"]:
    """-log(-log u), u uniform strictly between zero and one."""
    uniform_V = torch.rand(size, dtype=torch.float64, generator=random)
    return -(-uniform_V.clamp(min=1e-300).log()).log()


def seed(sought: Sought, number: int) -> int:
    """A seed from the settings' seed, the request's (or else the source's pieces) and the sample's number."""
    own = list(sought.source) if sought.request.seed is None else sought.request.seed
    told = json.dumps([sought.settings.seed, own, number]).encode()
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "big") >> 1


def by_chance(sought: Sought, row: int) -> list[Track]:
    return [Sample(sought, row, number) for number in range(sought.settings.best)]
