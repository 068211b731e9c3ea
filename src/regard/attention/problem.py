"""One call of attention, written down so that any kernel can compute any block of it.

scores  = sharpen(score(q, k) + bias(positions))
weights = normalize(scores, mask)
used    = drop(weights * factor)            what multiplies the values
context = used v + mix(used)
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.dropout import Dropout, Marks
from regard.attention.masks import Mask
from regard.attention.memory import History
from regard.attention.normalizers import Normalizer
from regard.attention.places import At, Place, length, part
from regard.attention.positions import Position
from regard.attention.scopes import Scope
from regard.attention.scores import Score


@dataclass(frozen=True)
class Formula:
    """The parts of a mechanism; every per-head parameter has the heads first."""

    score: Score
    scope: Scope
    normalizer: Normalizer
    position: Position

    def modules(self) -> tuple[nn.Module, ...]:
        return self.score, self.scope, self.normalizer, self.position

    def parameters(self) -> Iterator[nn.Parameter]:
        for module in self.modules():
            yield from module.parameters()

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Formula":
        """The same parts with every parameter changed, beside the originals."""
        return Formula(
            _changed(self.score, change),
            _changed(self.scope, change),
            _changed(self.normalizer, change),
            _changed(self.position, change),
        )


@dataclass(frozen=True)
class Problem:
    """Queries (already rotated), prepared keys, values, and everything that says how they meet."""

    formula: Formula
    query: Float[Tensor, "B H Q E"]
    keys: Float[Tensor, "B G K A"]
    values: Float[Tensor, "B G K W"]
    mask: Mask
    at_query: At
    at_key: At
    lengths: Int[Tensor, " B"] | None
    history: History | None = None
    dropout: Dropout | None = None
    # The number of each row, example and head among those of the whole call, for the dropout's counter.
    rows: Int[Tensor, "B H Q"] | None = None
    # How many beams of each example stand side by side as its queries.
    beams: int = 1

    @property
    def queries(self) -> int:
        return self.query.shape[2]

    @property
    def whole(self) -> Place:
        return self.place(slice(0, self.queries), slice(0, self.keys.shape[2]))

    def place(self, rows: slice, columns: slice) -> Place:
        at_query, at_key = part(self.at_query, rows), part(self.at_key, columns)
        return Place(at_query, at_key, rows, columns, self.query.device, self.lengths)

    def scores(self, query: Float[Tensor, "B H Q E"], keys: Tensor, place: Place) -> Float[Tensor, "B H Q K"]:
        """Scores of one block, as they enter the normalizer."""
        formula = self.formula
        scores: Tensor = formula.score(query, spread(keys, query.shape[1]), place, self.history)
        bias = formula.position.bias(query, place)
        return formula.normalizer.sharpen(scores if bias is None else scores + bias)

    def allowed(self, query: Float[Tensor, "B H Q E"], place: Place) -> Bool[Tensor, "#B #H #Q K"] | None:
        """Which keys of one block are in view."""
        masked, narrowed = self.mask.block(place), self.formula.scope.restrict(query, place)
        if masked is None or narrowed is None:
            return masked if narrowed is None else narrowed
        return masked & narrowed

    def whole_scores(self) -> Float[Tensor, "B H Q K"]:
        return self.scores(self.query, self.keys, self.whole)

    def whole_allowed(self) -> Bool[Tensor, "B H Q K"]:
        """Which keys are in view, drawn out in full."""
        allowed = self.allowed(self.query, self.whole)
        shape = (*self.query.shape[:3], self.keys.shape[2])
        if allowed is None:
            return torch.ones(shape, dtype=torch.bool, device=self.query.device)
        return allowed.expand(shape)

    def used(self, weights: Float[Tensor, "B H Q K"], query: Tensor, place: Place) -> Float[Tensor, "B H Q K"]:
        """Normalized weights as they multiply the values."""
        factor = self.formula.scope.factor(query, place)
        return self.dropped(weights if factor is None else weights * factor, place)

    def dropped(self, weights: Float[Tensor, "B H Q K"], place: Place) -> Float[Tensor, "B H Q K"]:
        if self.dropout is None:
            return weights
        columns_K = torch.arange(place.columns.start, place.columns.stop, device=weights.device)
        return weights * self.dropout.factor(self.row_numbers[:, :, place.rows], columns_K, weights.dtype)

    @property
    def marks(self) -> Marks | None:
        """What decides which weights are dropped, for a kernel that does so itself."""
        if self.dropout is None:
            return None
        return self.dropout.marks(self.row_numbers, torch.arange(self.keys.shape[2], device=self.query.device))

    def mixed(self, used: Float[Tensor, "B H Q K"], values: Tensor, place: Place) -> Float[Tensor, "B H Q W"]:
        """The context that weights and values give."""
        context = used @ spread(values, used.shape[1])
        more = self.formula.position.mix(used, place)
        return context if more is None else context + more

    @property
    def row_numbers(self) -> Int[Tensor, "B H Q"]:
        if self.rows is not None:
            return self.rows
        batch, heads, queries, _ = self.query.shape
        return torch.arange(batch * heads * queries, device=self.query.device).view(batch, heads, queries)

    def narrowed(self, heads: Tensor, rows: Tensor, examples: Tensor) -> "Problem":
        """The same call for some examples, heads and rows only, at a cost that grows with what is asked.

        Each beam counts as an example, as it does for whoever asks.
        """
        sources, beam = examples // self.beams, examples % self.beams
        places_BQ = beam[:, None] * (self.queries // self.beams) + rows
        grid = (sources[:, None, None], heads[None, :, None], places_BQ[:, None, :])
        shared = (sources[:, None], heads[None] // (self.query.shape[1] // self.keys.shape[1]))
        return replace(
            self,
            formula=self.formula.changed(lambda tensor: _of_heads(tensor, heads, self.query.shape[1])),
            query=self.query[grid],
            keys=self.keys[shared],
            values=self.values[shared],
            mask=_narrowed_mask(self.mask, heads, rows, sources),
            at_query=_chosen(self.at_query, rows, sources, places_BQ),
            at_key=self.at_key if isinstance(self.at_key, range) else _examples(self.at_key, sources),
            lengths=None if self.lengths is None else self.lengths[sources],
            history=None,
            rows=self.row_numbers[grid],
            beams=1,
        )

    def widened(self) -> "Problem":
        """The same call in single precision at least: rebuilt in half of it, weights would be off by percents."""
        wide = torch.promote_types(self.query.dtype, torch.float32)
        if wide == self.query.dtype:
            return self
        formula = self.formula.changed(lambda tensor: tensor.to(wide) if tensor.is_floating_point() else tensor)
        query, keys, values = self.query.to(wide), self.keys.to(wide), self.values.to(wide)
        return replace(self, formula=formula, query=query, keys=keys, values=values)


def spread(grouped: Float[Tensor, "B G K E"], heads: int) -> Float[Tensor, "B H K E"]:
    """Each group of keys (or values) beside every head that shares it."""
    groups = grouped.shape[1]
    return grouped if groups == heads else grouped.repeat_interleave(heads // groups, dim=1)


M = TypeVar("M", bound=nn.Module)


def _changed(module: M, change: Callable[[Tensor], Tensor]) -> M:
    """The same part with its parameters changed: a shallow copy, which shares everything else."""
    twin = copy.copy(module)
    for kind in ("_parameters", "_buffers"):
        held = module.__dict__[kind].items()
        twin.__dict__[kind] = {name: None if tensor is None else change(tensor) for name, tensor in held}
    twin.__dict__["_modules"] = {name: _changed(child, change) for name, child in module.named_children()}
    return twin


def _of_heads(tensor: Tensor, heads: Tensor, of: int) -> Tensor:
    return tensor[heads] if tensor.dim() > 0 and tensor.shape[0] == of else tensor


def _narrowed_mask(mask: Mask, heads: Tensor, rows: Tensor, examples: Tensor) -> Mask:
    mask = mask.select(examples)
    pairs = mask.pairs
    if pairs is not None:
        pairs = pairs[:, heads] if pairs.shape[1] > 1 else pairs
        pairs = pairs[:, :, rows] if pairs.shape[2] > 1 else pairs
    return replace(mask, pairs=pairs)


def _chosen(at: At, rows: Tensor, examples: Tensor, places: Int[Tensor, "B Q"]) -> At:
    if isinstance(at, range):
        return (rows + at.start)[None]
    return _examples(at, examples).expand(len(places), -1).gather(1, places)


def _examples(at: Tensor, examples: Tensor) -> Tensor:
    return at[examples] if at.shape[0] > 1 else at


def sizes_of(problem: Problem) -> tuple[int, int, int, int]:
    """Batch, heads, queries, keys."""
    batch, heads, queries, _ = problem.query.shape
    return batch, heads, queries, length(problem.at_key)
