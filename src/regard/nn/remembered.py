"""Sources as the blocks of a stack attend to them."""

from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Int
from torch import Tensor

from regard.attention import Memory


@dataclass(frozen=True)
class Remembered:
    """A memory for each block. For who finds sources `by_number`, choosing some moves nothing: `left` tells which."""

    whole: tuple[Memory, ...]
    by_number: bool = False
    left: Int[Tensor, " B"] | None = None

    def select(self, sources: Int[Tensor, " B"]) -> "Remembered":
        if not self.by_number:
            return Remembered(tuple(memory.select(sources) for memory in self.whole))
        return Remembered(self.whole, True, sources if self.left is None else self.left.index_select(0, sources))

    def __len__(self) -> int:
        """How many sources there are."""
        return self.whole[0].keys.shape[0] if self.left is None else self.left.shape[0]

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """As modules take them."""
        left = self.left
        return self.whole if left is None else tuple(memory.select(left) for memory in self.whole)
