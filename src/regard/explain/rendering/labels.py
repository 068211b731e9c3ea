"""Texts as pictures can take them: nothing invisible, nothing that commands a terminal, nothing XML forbids."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from rich.cells import cell_len, set_cell_size

from regard.explain.attribution import Axis, Unit

LONGEST = 40
# Sizes and places in pictures.
Pixels = int | float

# Controls, lone halves of characters, marks that turn the direction of writing around, and what XML has no place for.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
_PICTURES = {"\n": "⏎", "\t": "⇥", "\x7f": "␡"}
_NARROW, _BROAD = frozenset("iljtfrI.,:;'|!()[]/ "), frozenset("mwMW@%—…")


@dataclass(frozen=True)
class Segment:
    """A unit as it stands in its text, and the text between it and the unit before."""

    gap: str
    text: str
    special: bool


def visible(text: str) -> str:
    """The text with every character that cannot be seen, or does something, replaced by one that stands for it.

    >>> visible("a\\x1b[31m\\n")
    'a␛[31m⏎'
    """
    return _UNFIT.sub(lambda found: _picture(found[0]), text)


def _picture(letter: str) -> str:
    return _PICTURES.get(letter) or (chr(0x2400 + ord(letter)) if letter < " " else "\ufffd")


def label(unit: Unit) -> str:
    """What stands beside a row or above a column: never empty, and shortened in the middle if it is very long."""
    seen = visible(unit.text.strip(" ")) or "␣"
    if cell_len(seen) <= LONGEST:
        return seen
    half = LONGEST // 2 - 1
    return f"{set_cell_size(seen, half).rstrip()}…{_end(seen, half)}"


def _end(text: str, size: int) -> str:
    while cell_len(text) > size:
        text = text[max(1, (cell_len(text) - size) // 2) :]
    return text


def room(text: str, size: Pixels = 14) -> float:
    """Pixels a line of text takes at most, in any of the usual fonts."""
    return sum((_em(letter) for letter in text), 0.0) * size


@cache
def _em(letter: str) -> float:
    """The width of a letter as a share of the font's size, as broad as DejaVu Sans has it."""
    if letter in _NARROW:
        return 0.41
    if letter in _BROAD:
        return 1.02
    wide = cell_len(letter)
    if wide != 1:
        return 0.0 if not wide else 1.06
    foreign_mark = not letter.isascii() and unicodedata.category(letter)[0] in "SN"
    return 0.8 if letter.isupper() or foreign_mark else 0.66


def segments(axis: Axis) -> list[Segment]:
    """The units of an axis as they stand in its text; pieces that share a character show their own names after it."""
    return list(_segments(axis))


def _segments(axis: Axis) -> Iterator[Segment]:
    at = 0
    for number, unit in enumerate(axis.units):
        if unit.special or unit.span is None:
            yield Segment(" " if number else "", visible(unit.text) or "␣", unit.special)
            continue
        start, end = unit.span
        covered = axis.text[start:end] if start >= at else ""
        yield Segment(axis.text[at:start], covered or visible(unit.text) or "␣", False)
        at = max(at, end)


def tail(axis: Axis) -> str:
    """What comes after the last unit that stands in the text."""
    ends = [unit.span[1] for unit in axis.units if unit.span is not None and not unit.special]
    return axis.text[max(ends, default=len(axis.text)) :]


def wrapped(text: str, width: Pixels, size: Pixels) -> list[str]:
    """The text in lines that take at most so many pixels, broken at spaces where there are any."""
    lines: list[str] = []
    used = 0.0
    for word in re.findall(r"\S+\s*|\s+", visible(text)):
        for part in _chopped(word, width, size):
            taken = room(part, size)
            if lines and used + room(part.rstrip(), size) <= width:
                lines[-1] += part
                used += taken
            else:
                lines.append(part)
                used = taken
    return [line.rstrip() for line in lines]


def _chopped(word: str, width: Pixels, size: Pixels) -> Iterator[str]:
    """The word in parts that fit on a line, if it does not itself."""
    part, used = "", 0.0
    for letter in word:
        taken = room(letter, size)
        if part and used + taken > width and not letter.isspace():
            yield part
            part, used = "", 0.0
        part, used = part + letter, used + taken
    yield part
