"""Where queries and keys stand: positions, the block being computed, and the widths of a mechanism.

Positions are explicit. A `range` says that they are consecutive and the same for every example, which lets kernels
take shortcuts; a tensor (batch or 1 x length) says anything else. A position below zero is unknown.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import torch
from jaxtyping import Int
from torch import Tensor

from regard.errors import ConfigError

At: TypeAlias = range | Int[Tensor, "_ _"]


@dataclass(frozen=True)
class Sizes:
    """The widths a mechanism works with: of one query, one key and one value, per head."""

    query: int
    key: int
    value: int
    heads: int = 1
    groups: int = 1

    def __post_init__(self) -> None:
        for name in ("query", "key", "value", "heads", "groups"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)}: widths, heads and groups must be 1 or more.")
        if self.heads % self.groups:
            raise ConfigError(
                f"{self.heads} heads do not divide into {self.groups} groups of keys; choose a divisor of {self.heads}."
            )


@dataclass(frozen=True)
class Place:
    """One block of queries and keys, and the positions at which they stand."""

    at_query: At
    at_key: At
    rows: slice
    columns: slice
    device: torch.device
    lengths: Int[Tensor, " B"] | None = None

    @cached_property
    def query_positions(self) -> Int[Tensor, "#B Q"]:
        return positions(self.at_query, self.device)

    @cached_property
    def key_positions(self) -> Int[Tensor, "#B K"]:
        return positions(self.at_key, self.device)

    @cached_property
    def distance(self) -> Int[Tensor, "#B Q K"]:
        """position(key) - position(query)."""
        return self.key_positions[:, None, :] - self.query_positions[:, :, None]

    @cached_property
    def unknown(self) -> Tensor | None:
        """Pairs of which at least one position is unknown, or None if there are none."""
        if isinstance(self.at_query, range) and isinstance(self.at_key, range):
            return None
        pairs = (self.query_positions < 0)[:, :, None] | (self.key_positions < 0)[:, None, :]
        return pairs if bool(pairs.any()) else None


def positions(at: At, device: torch.device) -> Int[Tensor, "#B T"]:
    """Positions as a tensor with a batch dimension."""
    if isinstance(at, range):
        return torch.arange(at.start, at.stop, device=device)[None]
    return at.to(device)


def part(at: At, piece: slice) -> At:
    """The positions of one stretch."""
    return at[piece] if isinstance(at, range) else at[:, piece]


def length(at: At) -> int:
    return len(at) if isinstance(at, range) else at.shape[-1]


def at_least(at: range) -> int:
    return at.start


def at_most(at: range) -> int:
    return at.stop - 1


def farthest(at: At) -> int:
    """The largest position; below zero where there is none."""
    if isinstance(at, range):
        return at_most(at)
    return int(at.max()) if at.numel() else -1


def joined(first: At, second: At) -> At:
    """The positions of two stretches put end to end."""
    if isinstance(first, range) and isinstance(second, range) and first.stop == second.start:
        return range(first.start, second.stop)
    device = first.device if isinstance(first, Tensor) else second.device if isinstance(second, Tensor) else None
    left, right = positions(first, device or torch.device("cpu")), positions(second, device or torch.device("cpu"))
    rows = max(left.shape[0], right.shape[0])
    return torch.cat([left.expand(rows, -1), right.expand(rows, -1)], dim=1)
