"""Where a run stands, and what one update made of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

# Where the data stand after a batch, epoch first, in whatever numbers the data find their way back by.
Position = tuple[int, ...]
# Why a run ended: it was long enough (the first three), or it can go on another time (the last two).
Ending = Literal["updates", "epochs", "patience", "minutes", "stop"]


@dataclass(frozen=True)
class Progress:
    """All that a run remembers beside tensors."""

    update: int = 0
    position: Position = ()
    best: float | None = None
    best_update: int = 0
    waited: int = 0
    # Updates left out: loss or gradient was no number; or only the scaled gradient was too large for float16.
    skipped: int = 0
    overflowed: int = 0
    # The loss and its targets since the log was last told.
    recent_total: float = 0.0
    recent_count: int = 0

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> "Progress":
        """Progress as it was stored."""
        return cls(**{**facts, "position": tuple(facts["position"])})

    def facts(self) -> dict[str, Any]:
        return asdict(self)

    def seen(self, total: float, count: int) -> "Progress":
        """With the loss of one more update, to be told to the log."""
        return replace(self, recent_total=self.recent_total + total, recent_count=self.recent_count + count)

    @property
    def epoch(self) -> int:
        """How often all of the data have been seen."""
        return self.position[0] if self.position else 0


@dataclass(frozen=True)
class Step:
    """One update: its loss per target, how many targets, the rate, the gradient's norm; scores when it was time."""

    progress: Progress
    loss: float
    count: int
    rate: float
    norm: float
    scores: Mapping[str, float] | None = None
    best: bool = False
    last: bool = False
    # Loss per target of all updates since the log was last told, when it is time to tell it again.
    recent: float | None = None
    ending: Ending | None = None
