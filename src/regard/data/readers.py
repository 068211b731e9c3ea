"""Rows of text from files: several side by side, tables, JSON lines, CoNLL, SQuAD, plain text; packed or not.

A reader yields a `Row` for every good line and a `Fault` for every bad one; `read` stops or skips by policy. What
makes the rest of a file doubtful (missing, cut off, files of different lengths) stops whatever the policy is.
"""

from collections.abc import Callable, Iterator

from regard.data.columns import conll
from regard.data.counts import Counts, Policy
from regard.data.jsonlines import jsonl
from regard.data.plain import text
from regard.data.rows import Column, Fault, Row, Source, encoding_fault
from regard.data.squad import VALUES, squad
from regard.data.tables import comma_separated, tsv
from regard.errors import ConfigError, DataError, unknown
from regard.files import byte_lines, count_lines, shown


def read(format: str, source: Source, policy: Policy, counts: Counts) -> Iterator[Row]:
    """The good rows of a source; a bad one stops with its place, or is left out and counted."""
    if format not in READERS:
        raise ConfigError(unknown("format", format, READERS))
    for row in READERS[format](source):
        if isinstance(row, Row):
            yield row
        elif policy == "stop":
            raise DataError(row.sentence)
        else:
            counts.leave_out(row.reason, row.place)


def parallel(source: Source) -> Iterator[Row | Fault]:
    """One row from the same line of every file; files of different lengths are refused before the first row."""
    _same_lengths(source.paths)
    streams = [byte_lines(path, source.meter) for path in source.paths]
    try:
        for number, sides in enumerate(zip(*streams, strict=True), 1):
            yield _aligned(source, number, sides)
    except ValueError:
        raise DataError(f"{' and '.join(source.names)} changed while they were being read. Start again.") from None


# A reader of one's own: a function from a source to rows and faults, and a line here.
READERS: dict[str, Callable[[Source], Iterator[Row | Fault]]] = {
    "parallel": parallel,
    "tsv": tsv,
    "csv": comma_separated,
    "jsonl": jsonl,
    "conll": conll,
    "squad": squad,
    "text": text,
}

# Where each field stands if no columns are named.
DEFAULT_COLUMNS: dict[str, dict[str, Column]] = {
    "squad": {"question": "question", "passage": "context", "answers": "answers"},
    "text": {"text": "text"},
}


def misplaced(format: str, column: Column) -> str:
    """Why a format can have no such column, or nothing."""
    numbered = isinstance(column, int)
    if format == "jsonl" and numbered:
        return "JSON lines have keys, not numbers"
    if format == "conll" and not numbered:
        return "the columns of a CoNLL file are numbered from 1"
    if format == "squad" and column not in VALUES:
        return unknown("column", column, VALUES).removesuffix(".")
    if format in ("text", "parallel") and column not in ("text", 1):
        return "a file of plain text has no columns"
    return "columns are numbered from 1" if isinstance(column, int) and column < 1 else ""


def _same_lengths(paths: tuple[str, ...]) -> None:
    counts = {path: count_lines(path) for path in paths}
    if len(set(counts.values())) > 1:
        listing = ", ".join(f"{shown(path)} has {count:,} lines" for path, count in counts.items())
        raise DataError(f"{listing}: files side by side need the same number of lines.")


def _aligned(source: Source, number: int, sides: tuple[bytes, ...]) -> Row | Fault:
    """The row that the same line of every file makes; a fault names the file that has it."""
    fields = {}
    for file, (name, side) in enumerate(zip(source.columns, sides, strict=True)):
        try:
            fields[name] = side.decode("utf-8")
        except UnicodeDecodeError:
            return encoding_fault(side, source.place(number, file))
    row = source.checked(Row(source.place(number), fields))
    if isinstance(row, Fault):
        file = next((file for file, text in enumerate(fields.values()) if not text.strip()), 0)
        return source.checked(Row(source.place(number, file), fields))
    return row
