"""A row of text and where it stood, a line that is none, and what to read them from."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from regard.errors import DataError
from regard.files import Meter, decoded, shown

# A column by its name in the header (or its JSON key), or by its number, counted from 1.
Column: TypeAlias = str | int


class Row(NamedTuple):
    """The text of each field, and where it stood."""

    place: str
    fields: dict[str, str]


class Fault(NamedTuple):
    """A line that is not what it should be."""

    place: str
    reason: str
    sentence: str


@dataclass(frozen=True)
class Source:
    """What to read: files, and where in them each field stands (side by side, a column is a file)."""

    paths: tuple[str, ...]
    columns: dict[str, Column]
    header: bool = False
    blank: Literal["refuse", "keep"] = "refuse"
    meter: Meter = field(default_factory=Meter)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The paths as they may be printed."""
        return tuple(shown(path) for path in self.paths)

    def place(self, number: int, file: int = 0) -> str:
        """Where a line stands: file and number."""
        return f"{self.names[file]} line {number}"

    def checked(self, row: Row) -> Row | Fault:
        """The row, or the fault that one of its fields is blank."""
        if self.blank == "refuse":
            for name, text in row.fields.items():
                if not text or text.isspace():
                    return Fault(row.place, "empty", f"{row.place}: {name} is empty.")
        return row


def encoding_fault(line: bytes, place: str) -> Fault:
    """The fault of a line that is not UTF-8."""
    try:
        decoded(line, place)
    except DataError as error:
        return Fault(place, "encoding", str(error))
    raise AssertionError(f"{place} is UTF-8 after all")
