"""Sources as the blocks of a stack attend to them."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jaxtyping import Int
from torch import Tensor

from regard.attention import Memory


@dataclass(frozen=True)
class Remembered:
    """A memory for each block. For who finds sources `by_number`, choosing some moves nothing: `left` tells which."""

    whole: tuple[Memory, ...]
    by_number: bool = False
    left: Int[Tensor, " B"] | None = None
    # Where the kernels find it all, worked out at the first step for all that follow.
    places: list[Any] = field(default_factory=list, repr=False, compare=False)

    def select(self, sources: Int[Tensor, " B"]) -> "Remembered":
        if not self.by_number:
            return Remembered(tuple(memory.select(sources) for memory in self.whole))
        left = sources if self.left is None else self.left.index_select(0, sources)
        return Remembered(self.whole, True, left, self.places)

    def __len__(self) -> int:
        """How many sources there are."""
        return self.whole[0].keys.shape[0] if self.left is None else self.left.shape[0]

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """As modules take them."""
        left = self.left
        return self.whole if left is None else tuple(memory.select(left) for memory in self.whole)
