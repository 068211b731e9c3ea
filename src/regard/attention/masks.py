"""Which queries may attend to which keys. True = may attend, everywhere.

A mask is kept as what it is made of (padding of the keys, a band of positions, arbitrary pairs) and only ever
drawn out for the block a kernel asks for: a look-ahead mask over 16,384 positions costs nothing until then.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.attention.places import At, Place, at_least, at_most
from regard.errors import ConfigError, ModelError

ROWS_DRAWN = 24
# Farther than any two positions are apart.
FAR = 1 << 48


@dataclass(frozen=True)
class Mask:
    """keys AND pairs AND (-before <= position(key) - position(query) <= after), each part optional."""

    keys: Bool[Tensor, "B K"] | None = None
    pairs: Bool[Tensor, "#B #H #Q K"] | None = None
    before: int | None = None
    after: int | None = None

    def __and__(self, other: "Mask") -> "Mask":
        return Mask(
            keys=_both(self.keys, other.keys),
            pairs=_both(self.pairs, other.pairs),
            before=_least(self.before, other.before),
            after=_least(self.after, other.after),
        )

    @property
    def banded(self) -> bool:
        return self.before is not None or self.after is not None

    def select(self, rows: Int[Tensor, " R"]) -> "Mask":
        """The mask of these examples of the batch."""
        keys = None if self.keys is None else self.keys[rows]
        pairs = self.pairs[rows] if self.pairs is not None and self.pairs.shape[0] > 1 else self.pairs
        return replace(self, keys=keys, pairs=pairs)

    def block(self, place: Place) -> Bool[Tensor, "#B #H #Q K"] | None:
        """The mask of one block of queries and keys; None where all of it may be attended."""
        parts = [self._keys(place), self._pairs(place), self._band(place)]
        drawn = [part for part in parts if part is not None]
        if not drawn:
            return None
        whole = drawn[0]
        for part in drawn[1:]:
            whole = whole & part
        return whole

    def visible(self, queries: At, keys: At) -> slice:
        """The stretch of keys that the band lets any of these queries see; a kernel may skip the rest."""
        if not (isinstance(queries, range) and isinstance(keys, range)):
            return slice(0, keys.shape[-1] if isinstance(keys, Tensor) else len(keys))
        first = 0 if self.before is None else queries.start - self.before - keys.start
        last = len(keys) if self.after is None else queries.stop + self.after - keys.start
        return slice(min(max(first, 0), len(keys)), max(min(last, len(keys)), 0))

    def dense(self, queries: int, keys: int) -> Bool[Tensor, "#B #H Q K"]:
        """The whole mask for positions counted from zero."""
        self._check_drawable(queries, keys)
        block = self.block(Place(range(queries), range(keys), slice(0, queries), slice(0, keys), self._device()))
        if block is None:
            return torch.ones(1, 1, queries, keys, dtype=torch.bool)
        return block.expand(*block.shape[:2], queries, keys)

    def dead_rows(self, queries: int, keys: int) -> int:
        """How many rows may attend to nothing at all."""
        return int((~self.dense(queries, keys).any(-1)).sum())

    def draw(self, queries: int, keys: int) -> str:
        """The mask as text: one line a query, one sign a key, and a count of what is dead."""
        dense = self.dense(queries, keys)
        lines = ["".join("■" if allowed else "·" for allowed in row) for row in dense[0, 0, :ROWS_DRAWN].tolist()]
        dead = self.dead_rows(queries, keys)
        shape = " x ".join(str(size) for size in dense.shape)
        return "\n".join([f"Mask {shape} (■ may attend), {dead} dead row{'' if dead == 1 else 's'}", *lines])

    def __str__(self) -> str:
        if self.pairs is not None:
            return self.draw(self.pairs.shape[-2], self.pairs.shape[-1])
        keys = 8 if self.keys is None else self.keys.shape[-1]
        return self.draw(keys if self.banded else 1, keys)

    def _check_drawable(self, queries: int, keys: int) -> None:
        held = [part for part in (self.keys, self.pairs) if part is not None]
        rows = 1 if self.pairs is None else self.pairs.shape[2]
        if any(part.shape[-1] != keys for part in held) or rows not in (1, queries):
            sizes = " and ".join(str(tuple(part.shape)) for part in held)
            raise ModelError(f"A mask of shape {sizes} cannot be drawn for {queries} queries and {keys} keys.")

    def _device(self) -> torch.device:
        drawn = self.keys if self.keys is not None else self.pairs
        return torch.device("cpu") if drawn is None else drawn.device

    def _keys(self, place: Place) -> Bool[Tensor, "B 1 1 K"] | None:
        return None if self.keys is None else self.keys[:, None, None, place.columns]

    def _pairs(self, place: Place) -> Bool[Tensor, "#B #H #Q K"] | None:
        if self.pairs is None:
            return None
        rows = place.rows if self.pairs.shape[2] > 1 else slice(None)
        return self.pairs[:, :, rows, place.columns]

    def _band(self, place: Place) -> Bool[Tensor, "#B 1 Q K"] | None:
        """An unknown position (below zero) is never inside a band: nobody can say that it is not the future."""
        if self.all_in_band(place.at_query, place.at_key):
            return None
        query, key = place.query_positions[:, None, :, None], place.key_positions[:, None, None, :]
        back = None if self.before is None else _known(key, -FAR) >= _known(query, FAR) - self.before
        ahead = None if self.after is None else _known(key, FAR) <= _known(query, -FAR) + self.after
        return _both(back, ahead)

    def all_in_band(self, queries: At, keys: At) -> bool:
        """Whether every key stands inside the band of every query, told without drawing it."""
        if not self.banded:
            return True
        if not (isinstance(queries, range) and isinstance(keys, range)):
            return False
        back = self.before is None or at_most(queries) - at_least(keys) <= self.before
        ahead = self.after is None or at_most(keys) - at_least(queries) <= self.after
        return back and ahead


FREE = Mask()
LOOK_AHEAD = Mask(after=0)


def padding(lengths: Int[Tensor, " B"], size: int | None = None) -> Mask:
    """Keys beyond each example's length may not be attended."""
    longest = int(lengths.max()) if lengths.numel() else 0
    if longest < 1:
        raise ModelError("Every length is 0, so no row may attend to anything; drop the empty examples.")
    size = longest if size is None else size
    if longest > size:
        raise ModelError(f"A length of {longest} does not fit {size} keys; give size={longest} or shorten the example.")
    return Mask(keys=torch.arange(size, device=lengths.device) < lengths[:, None])


def real_keys(keys: Tensor) -> Mask:
    """The mask of keys (batch x keys) that are real and not padding."""
    return Mask(keys=_checked(keys, "batch x keys", 2))


def look_ahead() -> Mask:
    """A query may attend to its own position and those before it."""
    return LOOK_AHEAD


def window(before: int | None = None, after: int | None = None) -> Mask:
    """A query may attend to at most `before` positions back and `after` positions ahead."""
    for name, reach in (("before", before), ("after", after)):
        if reach is not None and reach < 0:
            raise ConfigError(f"window {name}={reach} is negative; give 0 or more, or None for no limit.")
    return Mask(before=before, after=after)


def pairs(allowed: Tensor) -> Mask:
    """Any mask at all: queries x keys, batch x queries x keys, or batch x heads x queries x keys."""
    allowed = _checked(allowed, "queries x keys, with batch and heads before them if they differ", None)
    if allowed.dim() == 2:
        allowed = allowed[None]
    return Mask(pairs=allowed[:, None] if allowed.dim() == 3 else allowed)


def _checked(allowed: Tensor, shape: str, dimensions: int | None) -> Tensor:
    if allowed.dtype != torch.bool:
        raise ModelError(
            f"The mask is {allowed.dtype}, expected torch.bool where True = may attend; "
            "write mask.bool() for 1/0 masks or mask == 0 for additive ones."
        )
    if allowed.dim() != dimensions if dimensions else not 2 <= allowed.dim() <= 4:
        raise ModelError(f"The mask has shape {tuple(allowed.shape)}, expected {shape}.")
    if not bool(allowed.any()):
        raise ModelError("The mask leaves every row dead; True must mean 'may attend', so perhaps it is inverted.")
    return allowed


def _both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    if any(one != other and 1 not in (one, other) for one, other in zip(first.shape, second.shape, strict=True)):
        raise ModelError(
            f"Masks of shapes {tuple(first.shape)} and {tuple(second.shape)} cannot be joined; make their sizes equal, "
            "or 1 where all share them."
        )
    return first & second


def _known(positions: Tensor, otherwise: int) -> Tensor:
    """Positions with the unknown ones moved to where no band reaches."""
    return positions.masked_fill(positions < 0, otherwise)


def _least(first: int | None, second: int | None) -> int | None:
    known = [reach for reach in (first, second) if reach is not None]
    return min(known) if known else None
