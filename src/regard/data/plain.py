"""Rows of plain text: a line, a document, or a whole file each."""

from collections.abc import Callable, Iterator, Sequence

from regard.data.rows import (
    Fault,
    Numbered,
    Row,
    Source,
    TextUnit,
    blocks,
    content,
    encoding_fault,
    first_encoding_fault,
)
from regard.files import byte_lines


def text(source: Source) -> Iterator[Row | Fault]:
    """One row for each unit of a file, as its only field."""
    return UNITS[source.unit](source)


def _lines(source: Source) -> Iterator[Row | Fault]:
    (path,) = source.paths
    for numbered in enumerate(byte_lines(path, source.meter), 1):
        yield _joined(source, [numbered])


def _documents(source: Source) -> Iterator[Row | Fault]:
    """What stands between separators; two of them in a row have nothing between them."""
    separator = source.separator.strip().encode()
    for block in blocks(source, lambda line: line.strip() == separator):
        yield _joined(source, block)


def _files(source: Source) -> Iterator[Row | Fault]:
    """The whole file, its last newline included; "\\r\\n" is a newline as everywhere."""
    raw = content(source)
    try:
        whole = raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        yield first_encoding_fault(raw, source)
    else:
        yield source.checked(Row(source.names[0], dict.fromkeys(source.columns, whole)))


UNITS: dict[TextUnit, Callable[[Source], Iterator[Row | Fault]]] = {
    "line": _lines,
    "document": _documents,
    "file": _files,
}


def _joined(source: Source, lines: Sequence[Numbered]) -> Row | Fault:
    texts = []
    for number, line in lines:
        try:
            texts.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            return encoding_fault(line, source.place(number))
    return source.checked(Row(source.place(lines[0][0]), dict.fromkeys(source.columns, "\n".join(texts))))
