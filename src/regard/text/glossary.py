"""A glossary: terms that must, or must not, be translated in a certain way, and a receipt for what was kept.

A line is `source term TAB target term`, with alternatives behind `|`; a target that begins with `!` must not appear.
Lines that begin with `#` and empty ones say nothing.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from regard.errors import DataError
from regard.files import FilePath, Line, lines, shown
from regard.text.patterns import CJK

# A letter or digit of a script with spaces, or an accent on one: a term must not touch it.
_INNER = f"(?:[^\\W{CJK}]|[\u0300-\u036f])"
_begins, _ends = re.compile(_INNER), re.compile(f"{_INNER}\\Z")


@dataclass(frozen=True)
class Entry:
    """A source term and its targets: one of them is wanted, or, if `forbidden`, none."""

    source: str
    targets: tuple[str, ...]
    forbidden: bool = False
    ignore_case: bool = False

    def occurs(self, text: str) -> bool:
        """Whether the source term stands in a text."""
        return contains(text, self.source, self.ignore_case)

    def found(self, output: str) -> str | None:
        """The first of the targets that stands in an output."""
        return next((target for target in self.targets if contains(output, target, self.ignore_case)), None)


@dataclass(frozen=True)
class Item:
    """What became of an entry: the target found in the output, and whether that is as it should be."""

    source: str
    wanted: tuple[str, ...]
    forbidden: bool
    found: str | None

    @property
    def met(self) -> bool:
        return (self.found is None) == self.forbidden

    def __str__(self) -> str:
        rule = f"{'not ' if self.forbidden else ''}{' or '.join(self.wanted)}"
        return f"{'met' if self.met else 'missed'}: {self.source} -> {rule}"


@dataclass(frozen=True)
class Receipt:
    """One item for every entry asked for."""

    items: tuple[Item, ...]

    @property
    def met(self) -> bool:
        return all(item.met for item in self.items)


class Glossary:
    """Entries in the order of their file."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)

    @classmethod
    def read(cls, path: FilePath, ignore_case: bool = False) -> Self:
        """The glossary in a file; a line that is none is named."""
        found: dict[tuple[str, bool], int] = {}
        entries = []
        for line in lines(path):
            if not line.text.strip() or line.text.startswith("#"):
                continue
            place = f"{shown(path)} line {line.number}"
            entry = _entry(line, place, ignore_case)
            key = (entry.source, entry.forbidden)
            if key in found:
                raise DataError(f"{place}: {entry.source!r} is on line {found[key]} already. Join the targets with |.")
            found[key] = line.number
            entries.append(entry)
        return cls(entries)

    def matches(self, text: str) -> tuple[Entry, ...]:
        """The entries whose source term stands in a text."""
        return tuple(entry for entry in self.entries if entry.occurs(text))


def receipt(output: str, entries: Iterable[Entry]) -> Receipt:
    """Which of these entries an output keeps."""
    return Receipt(tuple(Item(one.source, one.targets, one.forbidden, one.found(output)) for one in entries))


def contains(text: str, term: str, ignore_case: bool = False) -> bool:
    """Whether a term stands in a text: as whole words, or anywhere where words have no spaces between them.

    >>> contains("Der Hund schläft.", "Hund"), contains("Der Hundekorb", "Hund"), contains("我爱北京烤鸭", "北京")
    (True, False, True)
    """
    return _pattern(_composed(term), ignore_case).search(_composed(text)) is not None


@lru_cache(maxsize=4096)
def _pattern(term: str, ignore_case: bool) -> re.Pattern[str]:
    before = f"(?<!{_INNER})" if _begins.match(term) else ""
    after = f"(?!{_INNER})" if _ends.search(term) else "(?![\u0300-\u036f])"
    inside = r"\s+".join(map(re.escape, term.split()))
    return re.compile(before + inside + after, re.IGNORECASE if ignore_case else 0)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _entry(line: Line, place: str, ignore_case: bool) -> Entry:
    cells = [cell.strip() for cell in line.text.split("\t")]
    if len(cells) != 2:
        count = f"{len(cells)} column{'' if len(cells) == 1 else 's'}"
        raise DataError(f"{place}: {count}, expected 2: source term, tab, target term.")
    source, forbidden = cells[0], cells[1].startswith("!")
    targets = tuple(target.strip() for target in cells[1].removeprefix("!").split("|"))
    if not source or not all(targets):
        side = "target" if source else "source"
        raise DataError(f"{place}: the {side} term is empty. Write one, or remove the line.")
    return Entry(source, targets, forbidden, ignore_case)
