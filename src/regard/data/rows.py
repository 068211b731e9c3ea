"""A row of text and where it stood, a line that is none, and what to read them from."""

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from regard.data.counts import Counts
from regard.errors import DataError
from regard.files import FilePath, Meter, byte_lines, decoded, opened, shown

# A column by its name in the header (or its JSON key), or by its number, counted from 1.
Column: TypeAlias = str | int
# What one row of plain text is.
TextUnit: TypeAlias = Literal["line", "document", "file"]
# What is wrong with the fields of a row, or nothing.
Fitness: TypeAlias = Callable[[Mapping[str, str]], str]
# A line before decoding, and its number.
Numbered: TypeAlias = tuple[int, bytes]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What is read as one value must fit into memory; a small gzip of a huge file must not fill it.
LARGEST = 2**30


class Row(NamedTuple):
    """The text of each field, and where it stood."""

    place: str
    fields: dict[str, str]


class Fault(NamedTuple):
    """A line that is not what it should be."""

    place: str
    reason: str
    sentence: str


@runtime_checkable
class Rows(Protocol):
    """Rows that come out the same every time they are read; `Corpus` is one."""

    @property
    def counts(self) -> Counts: ...

    @property
    def meter(self) -> Meter: ...

    def __iter__(self) -> Iterator[Row]: ...

    def fingerprint(self, summing: Callable[[FilePath], str]) -> str: ...


@dataclass(frozen=True)
class Source:
    """What to read: files, and where in them each field stands (side by side, a column is a file)."""

    paths: tuple[str, ...]
    columns: dict[str, Column]
    header: bool = False
    blank: Literal["refuse", "keep"] = "refuse"
    meter: Meter = field(default_factory=Meter)
    unit: TextUnit = "line"
    # The line between two documents; by default one that is blank.
    separator: str = ""
    # How a line begins that is no data; by default none does.
    comments: str = ""
    # What else may be wrong with a row, in words.
    fault: Fitness | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The paths as they may be printed."""
        return tuple(shown(path) for path in self.paths)

    def place(self, number: int, file: int = 0) -> str:
        """Where a line stands: file and number."""
        return f"{self.names[file]} line {number}"

    def checked(self, row: Row) -> Row | Fault:
        """The row, or the fault that one of its fields is blank or that it cannot be used."""
        if self.blank == "refuse":
            for name, text in row.fields.items():
                if not text or text.isspace():
                    return Fault(row.place, "empty", f"{row.place}: {name} is empty.")
        if self.fault is not None and (wrong := self.fault(row.fields)):
            return Fault(row.place, "unusable", f"{row.place}: {wrong}.")
        return row


def encoding_fault(line: bytes, place: str) -> Fault:
    """The fault of a line that is not UTF-8."""
    try:
        decoded(line, place)
    except DataError as error:
        return Fault(place, "encoding", str(error))
    raise AssertionError(f"{place} is UTF-8 after all")


def blocks(source: Source, between: Callable[[bytes], bool]) -> Iterator[list[Numbered]]:
    """The lines between those that stand between blocks; a block has at least one."""
    (path,) = source.paths
    for apart, lines in groupby(enumerate(byte_lines(path, source.meter), 1), lambda one: between(one[1])):
        if not apart:
            yield list(lines)


def content(source: Source) -> bytes:
    """All bytes of a source of one file, unpacked, without a byte order mark."""
    (path,) = source.paths
    with opened(path, source.meter) as stream:
        try:
            found = stream.read(LARGEST + 1)
        except EOFError:
            raise DataError(f"{source.names[0]}: the gzip data end too early. Fetch the file again.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{source.names[0]}: damaged gzip data ({error}). Fetch the file again.") from None
        except OSError as error:
            raise DataError(f"Cannot read {source.names[0]}: {error.strerror or error}.") from error
    if len(found) > LARGEST:
        raise DataError(f"{source.names[0]}: more than {LARGEST // 2**20:,} MiB, too much for one row. Split the file.")
    return found.removeprefix(BYTE_ORDER_MARK)


def first_encoding_fault(raw: bytes, source: Source) -> Fault:
    """The fault of the first line that is not UTF-8, in bytes of which one is not."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return encoding_fault(line, source.place(number))
    raise AssertionError(f"{source.names[0]} is UTF-8 after all")
