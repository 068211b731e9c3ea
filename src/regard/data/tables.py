"""Rows of tables: a line a row, a column a field."""

import csv
from collections.abc import Iterator
from typing import NamedTuple

from regard.data.rows import Column, Fault, Row, Source, encoding_fault
from regard.errors import DataError, unknown
from regard.files import LONGEST_LINE, byte_lines

# Python's own limit is for the whole process: what another part of a program has raised stays.
csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
# What csv says when a quote was opened and no end of it was found; where the next record begins, nobody knows.
ENDLESS = ("unexpected end of data", "field larger than field limit")


class Record(NamedTuple):
    """The cells of one line of a table."""

    place: str
    cells: list[str]


def tsv(source: Source) -> Iterator[Row | Fault]:
    """Rows of a tab-separated file: every tab separates, there is no quoting."""
    return _table(source, _tab_records(source), "a tab")


def comma_separated(source: Source) -> Iterator[Row | Fault]:
    """Rows of a comma-separated file: quotes may enclose commas, quotes ("") and newlines (RFC 4180)."""
    return _table(source, _csv_records(source), "a comma")


def _tab_records(source: Source) -> Iterator[Record | Fault]:
    (path,) = source.paths
    for number, line in enumerate(byte_lines(path, source.meter), 1):
        place = source.place(number)
        try:
            yield Record(place, line.decode("utf-8").split("\t"))
        except UnicodeDecodeError:
            yield encoding_fault(line, place)


def _csv_records(source: Source) -> Iterator[Record | Fault]:
    (path,) = source.paths
    quote = 0  # the line of the quote that is open

    def lines() -> Iterator[str]:
        nonlocal quote
        for number, line in enumerate(byte_lines(path, source.meter), 1):
            if quotes := line.replace(b'""', b"").count(b'"'):
                quote = number if (quotes + bool(quote)) % 2 else 0
            # Escaped, so that one bad byte does not tear a record of several lines apart; it is found again below.
            yield f"{line.decode('utf-8', 'surrogateescape')}\n"

    records = csv.reader(lines(), strict=True)
    while True:
        first, quote = records.line_num + 1, 0
        try:
            cells = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            if str(error).startswith(ENDLESS):
                raise DataError(
                    f"{source.place(quote or first)}: a quote is opened here and its end not found, so that no "
                    'row after it can be told from it. Close it, or write "" for a quote that is text.'
                ) from None
            place = _place(source, first, records.line_num)
            yield Fault(place, "csv", f"{place}: {error}.")
        else:
            yield _decoded_record(Record(_place(source, first, records.line_num), cells))


def _place(source: Source, first: int, last: int) -> str:
    return source.place(first) if last <= first else f"{source.names[0]} lines {first} to {last}"


def _decoded_record(record: Record) -> Record | Fault:
    raw = ",".join(record.cells).encode("utf-8", "surrogateescape")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return encoding_fault(raw, record.place)
    return record


class _Layout(NamedTuple):
    """Which cell each field is, and how many cells a line has."""

    cells: dict[str, int]
    width: int


def _table(source: Source, records: Iterator[Record | Fault], separator: str) -> Iterator[Row | Fault]:
    layout: _Layout | None = None
    for record in records:
        if isinstance(record, Fault):
            if layout is None and source.header:
                raise DataError(record.sentence)
            yield record
        elif layout is None:
            layout = _layout(source, record)
            if not source.header:
                yield _row(source, record, layout, separator)
        else:
            yield _row(source, record, layout, separator)


def _layout(source: Source, first: Record) -> _Layout:
    """The first line says how many cells every line has."""
    cells = {name: _cell(column, first) for name, column in source.columns.items()}
    if source.header and max(cells.values()) >= len(first.cells):
        raise DataError(f"{first.place}: the header has {_columns(len(first.cells))}, {max(cells.values()) + 1} asked.")
    return _Layout(cells, max(len(first.cells), *(cell + 1 for cell in cells.values())))


def _cell(column: Column, header: Record) -> int:
    if isinstance(column, int):
        return column - 1
    if column not in header.cells:
        raise DataError(f"{header.place}: {unknown('column', column, header.cells)}")
    return header.cells.index(column)


def _row(source: Source, record: Record, layout: _Layout, separator: str) -> Row | Fault:
    place, cells = record
    if len(cells) != layout.width:
        sentence = f"{place}: {_columns(len(cells))}, expected {layout.width} separated by {separator}."
        return Fault(place, "columns", sentence)
    return source.checked(Row(place, {name: cells[cell] for name, cell in layout.cells.items()}))


def _columns(count: int) -> str:
    return f"{count} column{'' if count == 1 else 's'}"
