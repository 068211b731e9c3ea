"""Dropout of attention weights from a counter: any block of the mask can be drawn again on its own.

One seed is drawn per call from torch's generator, whatever kernel runs and whoever watches; each weight then keeps or
loses its place by a hash of (seed, row, column). Kernels that recompute, and taps that look at one head, see the very
mask that was applied.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import ConfigError


@dataclass(frozen=True)
class Dropout:
    """Each weight is zeroed with probability `rate`; the rest grow by 1 / (1 - rate)."""

    rate: float
    seed: int

    @classmethod
    def draw(cls, rate: float) -> "Dropout":
        return cls(rate, int(torch.empty((), dtype=torch.int64).random_()))

    def factor(
        self, rows: Int[Tensor, "B H Q"], columns: Int[Tensor, " K"], dtype: torch.dtype
    ) -> Float[Tensor, "B H Q K"]:
        """What weights are multiplied with: 0, or 1 / (1 - rate), for rows and columns named by their numbers."""
        marks = self.marks(rows, columns)
        hash_BHQK = marks.rows[..., None] ^ marks.columns
        # Both sides come scrambled; one round more is enough for the upper bits, and they alone decide.
        hash_BHQK.mul_(0x2C1B3C6D).bitwise_xor_(hash_BHQK >> 15).mul_(0x297A2D39)
        # In place, a comparison leaves whole numbers: four times as fast as making booleans and multiplying by them.
        return hash_BHQK.ge_(marks.least).to(dtype).mul_(marks.grown)

    def marks(self, rows: Int[Tensor, "B H Q"], columns: Int[Tensor, " K"]) -> "Marks":
        """What `factor` is computed from, for kernels that do it themselves."""
        sides = _scramble(rows, self.seed), _scramble(columns, ~self.seed)
        return Marks(*sides, int(self.rate * 2**32) - 2**31, 1.0 / (1.0 - self.rate))


class Marks(NamedTuple):
    """A hash of each row and of each column; a weight stays where that of both is no less than `least`."""

    rows: Int[Tensor, "B H Q"]
    columns: Int[Tensor, " K"]
    least: int
    grown: float


def checked_rate(rate: float) -> float:
    if not 0.0 <= rate < 1.0:
        raise ConfigError(f"dropout={rate} is outside 0 <= dropout < 1.")
    return rate


def _scramble(numbers: Int[Tensor, "*N"], seed: int) -> Int[Tensor, "*N"]:
    """The finalizer of SplitMix64 (Steele et al. 2014), cut to its upper half."""
    mixed = (numbers + 1) * -7046029254386353131 + seed
    mixed = (mixed ^ (mixed >> 30)) * -4658895280553007687
    mixed = (mixed ^ (mixed >> 27)) * -7723592293110705685
    return (mixed >> 32).to(torch.int32)
