"""What became of every row: kept, or left out for a reason, with the first few places."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

# A bad line either stops the reading or is left out and counted.
Policy: TypeAlias = Literal["stop", "skip"]

PLACES = 5


@dataclass
class Tally:
    """How many rows have something in common, and where the first few stood."""

    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Counts one more."""
        self.count += 1
        if len(self.places) < PLACES:
            self.places.append(place)

    def __str__(self) -> str:
        """Where they stood, in words."""
        return ", ".join([*self.places, *(["..."] if self.count > len(self.places) else [])])


class LeftOut(Tally):
    """The rows that were left out for one reason."""


@dataclass
class Counts:
    """How many rows were kept, how many left out for which reason, and how many belong to another share."""

    kept: int = 0
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    held_out: int = 0

    def leave_out(self, reason: str, place: str) -> None:
        """Counts one row that was left out."""
        self.left_out.setdefault(reason, LeftOut()).add(place)

    @property
    def read(self) -> int:
        return self.kept + self.held_out + self.lost

    @property
    def lost(self) -> int:
        """How many rows were left out, for whatever reason."""
        return sum(entry.count for entry in self.left_out.values())

    def __add__(self, other: "Counts") -> "Counts":
        """The counts of two corpora as of one."""
        left_out = {reason: LeftOut(entry.count, list(entry.places)) for reason, entry in self.left_out.items()}
        for reason, entry in other.left_out.items():
            both = left_out.setdefault(reason, LeftOut())
            both.count, both.places = both.count + entry.count, [*both.places, *entry.places][:PLACES]
        return Counts(self.kept + other.kept, left_out, self.held_out + other.held_out)

    def plain(self) -> dict[str, Any]:
        """These counts as values that JSON can hold."""
        left_out = {reason: {"count": entry.count, "places": entry.places} for reason, entry in self.left_out.items()}
        return {"kept": self.kept, "left_out": left_out, "held_out": self.held_out}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Counts":
        """The counts that `plain` was made from."""
        left_out = {reason: LeftOut(**entry) for reason, entry in plain["left_out"].items()}
        return cls(plain["kept"], left_out, plain.get("held_out", 0))

    def __str__(self) -> str:
        """One line a reason, ready to print.

        >>> counts = Counts(kept=2900)
        >>> counts.leave_out("empty", "train.de line 812")
        >>> print(counts)
        2,900 of 2,901 rows kept
          1 left out: empty (train.de line 812)
        """
        lines = [f"{self.kept:,} of {self.read:,} rows kept"]
        if self.held_out:
            lines.append(f"  {self.held_out:,} held out: in another share")
        return "\n".join([*lines, *(f"  {told}" for told in self.reasons())])

    def reasons(self) -> list[str]:
        """How many rows were left out for each reason, and where the first few stood, in words."""
        return [f"{entry.count:,} left out: {reason} ({entry})" for reason, entry in self.left_out.items()]
