"""Rows of CoNLL files: a line a word, a column a field, a blank line between sentences."""

from collections.abc import Iterator, Mapping, Sequence

from regard.data.rows import Fault, Numbered, Row, Source, blocks, encoding_fault

DOCUMENT = b"-DOCSTART-"


def conll(source: Source) -> Iterator[Row | Fault]:
    """One row a sentence: the words of each column, joined by one space.

    Columns are separated by tabs, or by spaces where there is no tab. A line that is no word makes a fault of its
    whole sentence. Only `comments` tells a comment from a word: "#" is a word in many corpora.
    """
    comment = source.comments.encode()
    for block in blocks(source, _between):
        words = [(number, line) for number, line in block if not (comment and line.startswith(comment))]
        if words:
            yield _sentence(source, words)


def _between(line: bytes) -> bool:
    return not line.strip() or line.startswith(DOCUMENT)


def _sentence(source: Source, words: Sequence[Numbered]) -> Row | Fault:
    cells = {name: int(column) - 1 for name, column in source.columns.items()}
    found = []
    for number, line in words:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            return encoding_fault(line, source.place(number))
        # Not `split()`: a no-break space is a character of a word.
        parts = text.split("\t") if "\t" in text else [part for part in text.split(" ") if part]
        kept = [parts[cell].strip(" ") for cell in cells.values() if cell < len(parts)]
        if len(kept) < len(cells) or "" in kept or " " in "".join(kept):
            return _no_word(source.place(number), parts, cells)
        found.append(kept)
    fields = {name: " ".join(column) for name, column in zip(cells, zip(*found, strict=True), strict=True)}
    return source.checked(Row(source.place(words[0][0]), fields))


def _no_word(place: str, parts: Sequence[str], cells: Mapping[str, int]) -> Fault:
    """The fault of a line that lacks a column, or has one that joining by spaces would lose."""
    if (last := max(cells.values())) >= len(parts):
        reason = f"{len(parts)} column{'' if len(parts) == 1 else 's'}, column {last + 1} asked"
    else:
        reason = f"columns {', '.join(map(repr, parts))}; a word is not empty and has no space in it"
    return Fault(place, "columns", f"{place}: {reason}.")
