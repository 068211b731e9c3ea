"""What becomes of the outputs when other weights are put in the place of attention's own.

Several versions are run at once. The first keeps its weights; every other gets weights made from the first's, so that
what is put there does not depend on what earlier changes have done. Only keys that may be attended to get weight, and a
row sums to what it did.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention import replace
from regard.explain.asking import MANY_WEIGHTS, heads, mechanism, still
from regard.explain.subject import Look, Subject

Towards = Literal["permuted", "uniform", "single"]
# What whole weights are exchanged for.
WHOLE: tuple[Towards, ...] = ("permuted", "uniform")


@dataclass(frozen=True)
class Move:
    """Weights moved this share of the way: to themselves in another order, to evenness, or to one key at random."""

    towards: Towards
    share: float = 1.0


@dataclass(frozen=True)
class Moved:
    """Of each move and output: the probability's and log-probability's change, and how far its attention moved."""

    change: Float[Tensor, "N O"]
    log_change: Float[Tensor, "N O"]
    # Jensen-Shannon divergence in bits, from 0 to 1, the mean of heads and layers.
    distance: Float[Tensor, "N O"]


def moved(subject: Subject, looks: Sequence[Look], moves: Sequence[Move], seed: int, head: int | str = "mean") -> Moved:
    """Every move of the weights of these layers, or of one head of theirs, as many at once as memory allows."""
    count = max(mechanism(subject, look).sizes.heads for look in looks)
    size = max(1, MANY_WEIGHTS // (count * (len(subject.inputs) + len(subject.outputs)) ** 2))
    random = torch.Generator().manual_seed(seed)
    changes = [Changed(subject, look, random, head) for look in looks]
    parts = [_some(subject, changes, moves[at : at + size]) for at in range(0, len(moves), size)]
    columns = zip(*((part.change, part.log_change, part.distance) for part in parts), strict=True)
    return Moved(*(torch.cat(column) for column in columns))


@torch.no_grad()
def _some(subject: Subject, changes: "Sequence[Changed]", moves: Sequence[Move]) -> Moved:
    puts = [Put(change, moves) for change in changes]
    with still(subject.model), ExitStack() as watches:
        for put in puts:
            watches.enter_context(replace(subject.model, put.changed.look.tap, put))
        scores_NO = subject.scores(subject.pieces.expand(1 + len(moves), -1)).double().cpu()
    before_1O, after_NO = scores_NO[:1], scores_NO[1:]
    distance_NO = torch.stack([put.by_output(len(subject.outputs)) for put in puts]).mean(0)
    return Moved(after_NO.exp() - before_1O.exp(), after_NO - before_1O, distance_NO)


@torch.no_grad()
def flips(
    subject: Subject, looks: Sequence[Look], again: Callable[[], Sequence[str]], seed: int, head: int | str = "mean"
) -> dict[Towards, float] | None:
    """The share of texts whose output is another one, predicted anew with other weights all the way.

    None where the keys that may have weight cannot be told from padding, which is so without softmax.
    """
    if any(not Changed(subject, look, torch.Generator()).positive for look in looks):
        return None
    before, found = again(), {}
    for towards in WHOLE:
        random = torch.Generator().manual_seed(seed)
        with ExitStack() as watches:
            for look in looks:
                change = partial(Changed(subject, look, random, head), towards=towards)
                watches.enter_context(replace(subject.model, look.tap, change))
            after = again()
        found[towards] = sum(a != b for a, b in zip(before, after, strict=True)) / len(before)
    return found


class Put:
    """What is put in the place of one layer's weights, call by call."""

    def __init__(self, changed: "Changed", moves: Sequence[Move]) -> None:
        self.changed, self.moves = changed, moves
        self._far: list[Float[Tensor, "N Q"]] = []

    def __call__(self, weights: Float[Tensor, "M H Q K"]) -> Float[Tensor, "M H Q K"]:
        own_1HQK = weights[:1]
        others = [own_1HQK.lerp(self.changed(own_1HQK, move.towards), move.share) for move in self.moves]
        others_NHQK = torch.cat(others)
        self._far.append(divergence(own_1HQK, others_NHQK)[:, self.changed.heads].mean(1).double().cpu())
        return torch.cat([own_1HQK, others_NHQK])

    def by_output(self, count: int) -> Float[Tensor, "N O"]:
        """How far the rows moved that stand for each output; all of them where rows belong to none."""
        far_NQ = torch.cat(self._far, dim=1)
        if self.changed.look.queries == "outputs":
            return far_NQ[:, -count:]
        return far_NQ.mean(1, keepdim=True).expand(-1, count)


class Changed:
    """Weights made from weights: drawn anew at every call, so that no two rows or heads are changed alike."""

    def __init__(self, subject: Subject, look: Look, random: torch.Generator, head: int | str = "mean") -> None:
        self.look, self.random, self.heads = look, random, heads(subject, look, head)
        # Other normalizers give no weight to keys that might have some.
        self.positive = mechanism(subject, look).settings.normalizer.name == "softmax"

    def __call__(self, weights: Float[Tensor, "N H Q K"], towards: Towards) -> Float[Tensor, "N H Q K"]:
        new_NHQK = weights.clone()
        new_NHQK[:, self.heads] = self._changed(weights, towards)[:, self.heads]
        return new_NHQK

    def _changed(self, weights: Float[Tensor, "N H Q K"], towards: Towards) -> Float[Tensor, "N H Q K"]:
        open_NHQK = self._open(weights)
        if towards == "uniform":
            return _sharing(weights, open_NHQK.to(weights.dtype))
        chance_NHQK = torch.rand(weights.shape, generator=self.random).to(weights.device).masked_fill(~open_NHQK, 2.0)
        if towards == "single":
            return _sharing(weights, torch.zeros_like(weights).scatter(-1, chance_NHQK.argmin(-1, keepdim=True), 1.0))
        places = (~open_NHQK).to(torch.uint8).argsort(dim=-1, stable=True)
        return torch.zeros_like(weights).scatter(-1, places, weights.gather(-1, chance_NHQK.argsort(dim=-1)))

    def _open(self, weights: Float[Tensor, "N H Q K"]) -> Bool[Tensor, "N H Q K"]:
        """The keys that may have weight."""
        if self.positive:
            return weights > 0
        queries, keys = weights.shape[2:]
        all_QK = torch.ones(queries, keys, dtype=torch.bool, device=weights.device)
        ahead = self.look.kind == "self" and self.look.queries == "outputs"
        return (all_QK.tril(keys - queries) if ahead else all_QK).expand(weights.shape)


def _sharing(weights: Float[Tensor, "N H Q K"], shares: Float[Tensor, "N H Q K"]) -> Float[Tensor, "N H Q K"]:
    """What each row has, given out by these shares; a row that has nothing gets nothing."""
    return shares * weights.sum(-1, keepdim=True) / shares.sum(-1, keepdim=True).clamp(min=1.0)


def divergence(one: Float[Tensor, "M H Q K"], other: Float[Tensor, "N H Q K"]) -> Float[Tensor, "N H Q"]:
    """Jensen and Shannon's, in bits: 0 for rows that are the same or empty, 1 for rows that share no key."""
    one, other = (part / part.sum(-1, keepdim=True).clamp(min=1e-12) for part in (one, other))
    middle = (one + other) / 2
    entropies = [-torch.xlogy(part, part).sum(-1) for part in (middle, one, other)]
    return ((entropies[0] - (entropies[1] + entropies[2]) / 2) / math.log(2)).clamp(0.0, 1.0)
