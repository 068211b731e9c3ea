"""Dropout of attention weights from a counter: any block of the mask can be drawn again on its own.

One seed is drawn per call from torch's generator, whatever kernel runs and whoever watches; each weight then keeps or
loses its place by a hash of (seed, row, column). Kernels that recompute, and taps that look at one head, see the very
mask that was applied.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.errors import ModelError


@dataclass(frozen=True)
class Dropout:
    """Each weight is zeroed with probability `rate`; the rest grow by 1 / (1 - rate)."""

    rate: float
    seed: int

    @classmethod
    def draw(cls, rate: float) -> "Dropout":
        return cls(rate, int(torch.empty((), dtype=torch.int64).random_()))

    @property
    def growth(self) -> float:
        return 1.0 / (1.0 - self.rate)

    def keep(self, rows: Int[Tensor, "B H Q"], columns: Int[Tensor, " K"]) -> Bool[Tensor, "B H Q K"]:
        """Which weights stay, for rows and columns named by their numbers."""
        hash_BHQK = _scramble(rows, self.seed)[..., None] ^ _scramble(columns, ~self.seed)
        # Two rounds of multiply and shift spread the difference of a single bit over all thirty-two.
        hash_BHQK.mul_(0x2C1B3C6D).bitwise_xor_(hash_BHQK >> 15)
        hash_BHQK.mul_(0x297A2D39).bitwise_xor_(hash_BHQK >> 13)
        return hash_BHQK.mul_(0x5BD1E995) >= int(self.rate * 2**32) - 2**31


def checked_rate(rate: float) -> float:
    if not 0.0 <= rate < 1.0:
        raise ModelError(f"dropout={rate} is outside 0 <= dropout < 1.")
    return rate


def _scramble(numbers: Int[Tensor, "*N"], seed: int) -> Int[Tensor, "*N"]:
    """The finalizer of SplitMix64 (Steele et al. 2014), cut to its upper half."""
    mixed = (numbers + 1) * -7046029254386353131 + seed
    mixed = (mixed ^ (mixed >> 30)) * -4658895280553007687
    mixed = (mixed ^ (mixed >> 27)) * -7723592293110705685
    return (mixed >> 32).to(torch.int32)
