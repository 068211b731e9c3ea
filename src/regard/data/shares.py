"""Shares of a corpus: a row is in one by a hash of its text, a character of one long text by its place.

    u = first 8 bytes of SHA-256(salt, NUL, value) / 2^64,   a row is in [low, high) if low <= u < high

So a share depends on no order and no neighbours, equal rows are on the same side, [0, 0.2) and [0.2, 0.4) have no row
in common, and all of [0, 1) is everything.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from regard.data.counts import Counts
from regard.data.rows import Column, Row

SALT = "regard"


@dataclass(frozen=True)
class Share:
    """What lies in [low, high), decided by the values of `by`: fields, or columns of the file; of all fields if none.

    >>> share = Share(0.0, 0.5)
    >>> [text for text in "abcdef" if share.holds({"text": text})]
    ['a', 'b', 'c', 'e', 'f']
    """

    low: float
    high: float
    by: tuple[Column, ...] = ()
    salt: str = SALT

    def holds(self, fields: Mapping[str, str]) -> bool:
        """Whether a row is in it."""
        names = [str(column) for column in self.by] or sorted(fields)
        told = "\0".join([self.salt, *(fields[name] for name in names)])
        number = int.from_bytes(hashlib.sha256(told.encode("utf-8", "surrogatepass")).digest()[:8])
        # Not `number / 2**64`, which rounds up to 1 at the very end; a float times a power of two is exact.
        return self.low * 2**64 <= number < self.high * 2**64

    def covers(self, start: int, end: int, length: int) -> bool:
        """Whether characters from `start` to `end`, of `length` in all, are in it."""
        first, last = self.edges(length)
        return first <= start and end <= last

    def edges(self, length: int) -> tuple[int, int]:
        """Where it begins and ends in a text."""
        return int(length * self.low), int(length * self.high)


def divided(rows: Iterable[Row], inside: Sequence[Share], outside: Sequence[Share], counts: Counts) -> Iterator[Row]:
    """The rows in every share of `inside` and in none of `outside`; the others are counted as held out."""
    for row in rows:
        if all(share.holds(row.fields) for share in inside) and not any(share.holds(row.fields) for share in outside):
            yield row
        else:
            counts.held_out += 1


def cut(rows: Iterable[Row], inside: Sequence[Share], outside: Sequence[Share], counts: Counts) -> Iterator[Row]:
    """Rows of one text each, cut by position: a row for each piece that stays, a count for each that does not."""
    for place, fields in rows:
        ((name, text),) = fields.items()
        for start, end, stays in _pieces(len(text), inside, outside):
            if stays:
                yield Row(f"{place} characters {start + 1} to {end}", {name: text[start:end]})
            else:
                counts.held_out += 1


def _pieces(length: int, inside: Sequence[Share], outside: Sequence[Share]) -> Iterator[tuple[int, int, bool]]:
    """Where each piece of a text begins and ends, and whether it stays."""

    def stays(span: tuple[int, int]) -> bool:
        held = any(share.covers(*span, length) for share in outside)
        return not held and all(share.covers(*span, length) for share in inside)

    edges = sorted({0, length, *(edge for share in (*inside, *outside) for edge in share.edges(length))})
    for kept, spans in groupby(pairwise(edges), stays):
        (start, end), *more = spans
        yield start, more[-1][1] if more else end, kept
