"""The coverage penalty: source pieces that were hardly looked at cost."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

LEAST = 1e-3
"""A piece never looked at counts as looked at this much: its logarithm stays finite, and rounding stays small in it."""


@runtime_checkable
class Looking(Protocol):
    """What shows a model's attention to its source, wherever it takes it from."""

    def last(self) -> Float[Tensor, "R S"]:
        """The weights over the source in the step just taken, rows as in that step."""
        ...


def penalties(seen: Float[Tensor, "R S"], real: Bool[Tensor, "R S"], weight: float) -> Float[Tensor, " R"]:
    """weight x sum over source pieces of log min(weights received so far, 1)   (Wu et al. 2016, eq. 14)."""
    logs_RS = seen.double().clamp(LEAST, 1.0).log()
    return weight * logs_RS.masked_fill(~real, 0.0).sum(-1)


class Coverage:
    """The weights every row has spent on its source so far."""

    def __init__(self, looking: Looking, weight: float, real: Bool[Tensor, "R S"]) -> None:
        self.looking, self.weight, self.real = looking, weight, real
        self.seen = torch.zeros(real.shape, dtype=torch.float64, device=real.device)

    def look(self) -> list[float]:
        """Each row's penalty after the step just taken."""
        self.seen = self.seen + self.looking.last().double()
        return penalties(self.seen, self.real, self.weight).tolist()

    def select(self, rows: Tensor) -> None:
        self.seen, self.real = self.seen[rows], self.real[rows]
