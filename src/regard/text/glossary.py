"""A glossary: terms that must, or must not, be translated in a certain way, and a receipt for what was kept.

A line is `source term TAB target term`, with alternatives behind `|`; a target that begins with `!` must not appear.
Lines that begin with `#` and empty ones say nothing.

A term stands in a text as whole words, written as in its line. Where a sentence begins, its first letter may be a
capital; where capitals are not told from small letters, it may be written in any.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from regard.errors import DataError
from regard.files import FilePath, Line, lines, shown
from regard.text.patterns import CJK
from regard.text.sentences import sentences

# A letter or digit of a script with spaces, or an accent on one: a term must not touch it.
_INNER = f"(?:[^\\W{CJK}]|[\u0300-\u036f])"
_begins, _ends = re.compile(_INNER), re.compile(f"{_INNER}\\Z")


@dataclass(frozen=True)
class Entry:
    """A source term and its targets: one of them is wanted, or, if `forbidden`, none; which side tells capitals."""

    source: str
    targets: tuple[str, ...]
    forbidden: bool = False
    cased_source: bool = True
    cased_target: bool = True

    def occurs(self, text: str) -> bool:
        """Whether the source term stands in a text."""
        return contains(text, self.source, self.cased_source)

    def forms(self, text: str) -> tuple[str, ...]:
        """The targets as they may be written for a text; where the source begins a sentence, with a capital too."""
        text = _composed(text)
        if not any(_opens(text, place) for place in _places(text, self.source, self.cased_source)):
            return self.targets
        return tuple(dict.fromkeys([*self.targets, *map(_capitalized, self.targets)]))

    def found(self, output: str) -> str | None:
        """The first of the targets that stands in an output."""
        return next((target for target in self.targets if contains(output, target, self.cased_target)), None)


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
    def read(cls, path: FilePath, cased_source: bool = True, cased_target: bool = True) -> Self:
        """The glossary in a file, for texts whose capitals are told from small letters or not; a bad line is named."""
        found: dict[tuple[str, bool], int] = {}
        entries = []
        for line in lines(path):
            if not line.text.strip() or line.text.startswith("#"):
                continue
            place = f"{shown(path)} line {line.number}"
            entry = _entry(line, place, cased_source, cased_target)
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


def contains(text: str, term: str, cased: bool = True) -> bool:
    """Whether a term stands in a text: as whole words, or anywhere where words have no spaces between them.

    >>> contains("Der Hund schläft.", "Hund"), contains("Der Hundekorb", "Hund"), contains("我爱北京烤鸭", "北京")
    (True, False, True)
    >>> contains("Dogs bark.", "dogs"), contains("Hot Dogs", "dogs"), contains("Hot Dogs", "dogs", cased=False)
    (True, False, True)
    """
    return next(_places(text, term, cased), None) is not None


def _places(text: str, term: str, cased: bool) -> Iterator[int]:
    """Where a term begins in a text."""
    text, term = _composed(text), _composed(term).strip()
    for match in _pattern(term, cased).finditer(text):
        if not cased or match[0][:1] == term[:1] or _opens(text, match.start()):
            yield match.start()


def _opens(text: str, place: int) -> bool:
    """Whether a sentence begins here, but for what is no letter or digit."""
    start = max((start for start, _ in sentences(text) if start <= place), default=0)
    return not any(map(str.isalnum, text[start:place]))


@lru_cache(maxsize=4096)
def _pattern(term: str, cased: bool) -> re.Pattern[str]:
    before = f"(?<!{_INNER})" if _begins.match(term) else ""
    after = f"(?!{_INNER})" if _ends.search(term) else "(?![\u0300-\u036f])"
    as_it_is, capitalized = (r"\s+".join(map(re.escape, form.split())) for form in (term, _capitalized(term)))
    return re.compile(f"{before}(?:{as_it_is}|{capitalized}){after}", 0 if cased else re.IGNORECASE)


def _capitalized(term: str) -> str:
    return term[:1].upper() + term[1:]


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _entry(line: Line, place: str, cased_source: bool, cased_target: bool) -> Entry:
    cells = [cell.strip() for cell in line.text.split("\t")]
    if len(cells) != 2:
        count = f"{len(cells)} column{'' if len(cells) == 1 else 's'}"
        raise DataError(f"{place}: {count}, expected 2: source term, tab, target term.")
    source, forbidden = cells[0], cells[1].startswith("!")
    targets = tuple(target.strip() for target in cells[1].removeprefix("!").split("|"))
    if not source or not all(targets):
        side = "target" if source else "source"
        raise DataError(f"{place}: the {side} term is empty. Write one, or remove the line.")
    return Entry(source, targets, forbidden, cased_source, cased_target)
