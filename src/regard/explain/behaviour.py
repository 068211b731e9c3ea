"""What each head does, in figures: where its weight lies, and where it would lie if it were spread evenly.

Shares of the weight of a row, the mean over rows and texts: on the position before, after or itself; on another piece
that reads the same; on marks such as the end of a text; on the first piece; on the rarest piece; on linked inputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.errors import RequestError
from regard.explain.asking import behind, by_head, heads
from regard.explain.attribution import Unit
from regard.explain.heads import HeadTable, all_heads
from regard.explain.subject import Look, Subject

# Which inputs an output is linked to, as pairs (output, input).
Links: TypeAlias = frozenset[tuple[int, int]]

SHARES = ("previous", "next", "itself", "same_word", "special", "first", "rarest", "alignment")
DISTANCES = {"0": (0, 0), "1": (1, 1), "2": (2, 2), "3-4": (3, 4), "5-8": (5, 8), "9-16": (9, 16), "17-": (17, 1 << 30)}
# A head does a thing when this much more of its weight lies there than of weight spread evenly.
CLEARLY = 0.3


@dataclass(frozen=True)
class Behaviour:
    """Figures of each head, the same for weight spread evenly over what it may see, and what it clearly does."""

    found: HeadTable
    chance: HeadTable

    @property
    def roles(self) -> tuple[str, ...]:
        """What each head does most clearly beyond chance, or nothing."""
        more = np.nan_to_num((self.found.figures - self.chance.figures)[:, : len(SHARES)], nan=-1.0)
        best = more.argmax(-1)
        return tuple(SHARES[column] if row[column] >= CLEARLY else "" for row, column in zip(more, best, strict=True))


def behaviour(
    subjects: Sequence[Subject], counts: Mapping[int, int] | None = None, links: Sequence[Links] | None = None
) -> Behaviour:
    """Shares, entropy in nats, mean distance; `counts` of piece ids tell what is rare, `links` what aligns in each."""
    every, columns = all_heads(subjects), (*SHARES, "entropy", "distance")
    if links is not None and len(links) != len(subjects):
        raise RequestError(f"{len(subjects)} texts but links of {len(links)}; give links for each, empty or not.")
    found, chance = [], []
    for number, subject in enumerate(subjects):
        linked = None if links is None else links[number]
        for look in subject.looks:
            weights_HQK, where = _weights(subject, look), _Where(subject, look, counts, linked)
            found.append(_figures(weights_HQK, where))
            chance.append(_figures(_evenly(weights_HQK), where))
    layers = len(subjects[0].looks)
    tables = [HeadTable(every, columns, _mean(figures, layers)) for figures in (found, chance)]
    return Behaviour(*tables)


def distances(subjects: Sequence[Subject]) -> HeadTable:
    """How the weight of self-attention is shared out by distance."""
    every = all_heads(subjects)
    found = [_profile(_weights(subject, look), look) for subject in subjects for look in subject.looks]
    return HeadTable(every, tuple(DISTANCES), _mean(found, len(subjects[0].looks)))


def _weights(subject: Subject, look: Look) -> Float[Tensor, "H Q K"]:
    return torch.stack(by_head(subject, look, heads(subject, look, "mean")))


class _Where:
    """The cells of one layer's map that each share is of; None where it has no meaning."""

    def __init__(self, subject: Subject, look: Look, counts: Mapping[int, int] | None, links: Links | None) -> None:
        self.subject, self.look, self.counts, self.links = subject, look, counts, links

    def cells(self, share: str, queries: int, keys: int) -> Bool[Tensor, "Q K"] | None:
        if share in ("previous", "next", "itself"):
            return self._beside({"previous": -1, "next": 1, "itself": 0}[share], queries, keys)
        if share == "same_word":
            return self._same(queries, keys)
        if share == "alignment":
            return self._linked(queries, keys)
        columns = {"special": self._special, "first": self._first, "rarest": self._rarest}[share](queries, keys)
        return None if columns is None else torch.tensor(columns).expand(queries, -1)

    def units(self, queries: int, keys: int) -> tuple[Unit, ...]:
        """What stands at each key."""
        inputs, outputs = self.subject.inputs.units, self.subject.outputs
        if self.look.keys == "outputs":
            return behind(outputs).units[:keys]
        # One text that goes on where the inputs end, or a decoder's places behind them.
        return (inputs + (outputs.units if queries == keys else behind(outputs).units))[:keys]

    def _beside(self, shift: int, queries: int, keys: int) -> Bool[Tensor, "Q K"] | None:
        return _away(queries, keys) == shift if square(self.look, queries, keys) else None

    def _same(self, queries: int, keys: int) -> Bool[Tensor, "Q K"] | None:
        if not square(self.look, queries, keys):
            return None
        words = [unit.text.strip().casefold() for unit in self.units(queries, keys)]
        return torch.tensor([[a == b and i != j for j, b in enumerate(words)] for i, a in enumerate(words)])

    def _special(self, queries: int, keys: int) -> list[bool]:
        return [unit.special for unit in self.units(queries, keys)]

    def _first(self, queries: int, keys: int) -> list[bool]:
        """The first piece that is text."""
        special = self._special(queries, keys)
        place = special.index(False) if False in special else 0
        return [column == place for column in range(keys)]

    def _rarest(self, queries: int, keys: int) -> list[bool] | None:
        if self.counts is None or self.look.keys != "inputs":
            return None
        pieces = self.subject.pieces.tolist()
        text = [place for place, unit in enumerate(self.subject.inputs.units) if not unit.special]
        rarest = min(text, key=lambda place: self.counts.get(pieces[place], 0) if self.counts else 0, default=-1)
        return [column == rarest for column in range(keys)]

    def _linked(self, queries: int, keys: int) -> Bool[Tensor, "Q K"] | None:
        if self.links is None or self.look.kind != "cross":
            return None
        cells = torch.zeros(queries, keys, dtype=torch.bool)
        for output, piece in self.links:
            cells[queries - len(self.subject.outputs) + output, piece] = True
        return cells


def square(look: Look, queries: int, keys: int) -> bool:
    """Whether queries and keys are the same positions."""
    return look.kind == "self" and queries == keys


def _away(queries: int, keys: int) -> Tensor:
    return torch.arange(keys)[None] - torch.arange(queries)[:, None]


def _figures(weights: Float[Tensor, "H Q K"], where: _Where) -> Float[np.ndarray, "H F"]:
    weights = weights.cpu()
    queries, keys = weights.shape[1:]
    shares = [_share(weights, where.cells(name, queries, keys), name) for name in SHARES]
    entropy_H = -torch.xlogy(weights, weights).sum(-1).mean(-1)
    distance_H = torch.full_like(entropy_H, torch.nan)
    if square(where.look, queries, keys):
        distance_H = (weights * _away(queries, keys).abs()).sum(-1).mean(-1)
    return torch.stack([*shares, entropy_H, distance_H], dim=1).numpy()


def _share(weights: Float[Tensor, "H Q K"], cells: Bool[Tensor, "Q K"] | None, name: str) -> Float[Tensor, " H"]:
    """The weight on these cells, the mean over rows; of rows that have any, where not all can."""
    if cells is None:
        return weights.new_full((len(weights),), torch.nan)
    on_HQ = (weights * cells).sum(-1)
    if name in ("alignment", "same_word"):
        on_HQ = on_HQ[:, cells.any(-1)]
    return on_HQ.mean(-1)


def _evenly(weights: Float[Tensor, "H Q K"]) -> Float[Tensor, "H Q K"]:
    """Each row spread evenly over the keys it may see: all, or where no head ever looks ahead, none ahead."""
    open_QK = torch.ones_like(weights[0])
    if weights.shape[1] == weights.shape[2] and not weights.triu(1).any():
        open_QK = open_QK.tril()
    return (open_QK / open_QK.sum(-1, keepdim=True)).expand_as(weights)


def _profile(weights: Float[Tensor, "H Q K"], look: Look) -> Float[np.ndarray, "H F"]:
    queries, keys = weights.shape[1:]
    if not square(look, queries, keys):
        return np.full((len(weights), len(DISTANCES)), np.nan, dtype=np.float32)
    away_QK = _away(queries, keys).abs()
    bins = [(away_QK >= low) & (away_QK <= high) for low, high in DISTANCES.values()]
    return torch.stack([(weights.cpu() * cells).sum(-1).mean(-1) for cells in bins], dim=1).numpy()


def _mean(figures: Sequence[Float[np.ndarray, "_ F"]], layers: int) -> Float[np.ndarray, "heads F"]:
    """The mean over texts, which each gave all layers in turn; a text without a figure does not count."""
    texts = [np.concatenate(figures[start : start + layers]) for start in range(0, len(figures), layers)]
    stacked = np.stack(texts)
    known = ~np.isnan(stacked)
    total = np.where(known, stacked, 0.0).sum(0)
    return np.where(known.any(0), total / np.maximum(known.sum(0), 1), np.nan)
