"""What is attended to, prepared once; what was attended before; and what comes of attending."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attention.places import At, joined


@dataclass(frozen=True)
class Memory:
    """Keys and values as the mechanism wants them, which of them are real, and where they stand.

    Made once per source by `remember`; every decoding step and every beam of that source shares it.
    """

    keys: Float[Tensor, "B G K A"]
    values: Float[Tensor, "B G K W"]
    real: Bool[Tensor, "B K"] | None
    at: At

    @property
    def size(self) -> int:
        return self.keys.shape[2]

    @property
    def lengths(self) -> Int[Tensor, " B"]:
        """How many real keys each example has."""
        if self.real is None:
            return torch.full((self.keys.shape[0],), self.size, device=self.keys.device)
        return self.real.sum(-1)

    def extend(self, new: "Memory") -> "Memory":
        """This memory followed by a newer one: the cache of causal self-attention."""
        return Memory(
            keys=torch.cat([self.keys, new.keys], dim=2),
            values=torch.cat([self.values, new.values], dim=2),
            real=self._joined_real(new),
            at=joined(self.at, new.at),
        )

    def select(self, rows: Int[Tensor, " R"]) -> "Memory":
        """The memory of these rows, in this order."""
        real = None if self.real is None else self.real[rows]
        at = self.at[rows] if isinstance(self.at, Tensor) and self.at.shape[0] > 1 else self.at
        return Memory(self.keys.index_select(0, rows), self.values.index_select(0, rows), real, at)

    def _joined_real(self, new: "Memory") -> Bool[Tensor, "B K"] | None:
        if self.real is None and new.real is None:
            return None
        return torch.cat([_known_real(self), _known_real(new)], dim=1)


def _known_real(memory: Memory) -> Bool[Tensor, "B K"]:
    if memory.real is not None:
        return memory.real
    return torch.ones(memory.keys.shape[0], memory.size, dtype=torch.bool, device=memory.keys.device)


@dataclass(frozen=True)
class History:
    """The weights of the preceding query, and the sum of the weights of all queries before."""

    weights: Float[Tensor, "B H Q K"]
    total: Float[Tensor, "B H Q K"]

    def after(self, weights: Float[Tensor, "B H Q K"]) -> "History":
        return History(weights, self.total + weights)

    def select(self, rows: Int[Tensor, " R"]) -> "History":
        return History(self.weights[rows], self.total[rows])


@dataclass(frozen=True)
class Attended:
    """What one call of a mechanism gives; the last three only where an output needs them explicitly.

    `weights` are the normalized ones, for whoever points with them; `used` are those that multiplied the values, which
    differ where dropout is on.
    """

    context: Float[Tensor, "B H Q W"]
    history: History | None = None
    weights: Float[Tensor, "B H Q K"] | None = None
    used: Float[Tensor, "B H Q K"] | None = None
    scores: Float[Tensor, "B H Q K"] | None = None
