"""Where marks go in an output, and the spaces beside them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.text.alignment import Link
from regard.text.patterns import CJK, CJK_MARKS

_WORD = re.compile(f"[{CJK}{CJK_MARKS}]|[^\\s{CJK}{CJK_MARKS}]+")
_TIGHT = re.compile(f"[{CJK}{CJK_MARKS}]")
_STOPS = frozenset(".,;:!?…。，、；：！？")
_CLOSING = _STOPS | frozenset("%)]}»›”’")
_OPENING = frozenset("([{«‹„“‘¿¡")
_QUOTES = frozenset("\"'")


@dataclass(frozen=True)
class Mark:
    """What was taken out: its place in the clean text, also as a share of its length, and how it stood there.

    `before` and `after` are the characters of text beside it, a space, or nothing at an edge of the text; `apart` says
    whether a space divides it from the mark right before it. `partner` is the number of the other tag of its pair.
    """

    text: str
    kind: str
    place: int
    share: float
    before: str
    after: str
    apart: bool
    partner: int | None = None

    @property
    def free_before(self) -> bool:
        return _loose(self.before) or self.before in _OPENING | _QUOTES

    @property
    def free_after(self) -> bool:
        return _loose(self.after) or self.after in _CLOSING | _QUOTES

    @property
    def glued(self) -> bool:
        return self.partner is None and not (self.free_before or self.free_after)


class Placed(NamedTuple):
    """A mark by its number, and where in the output it goes."""

    offset: int
    number: int


class Rendered(NamedTuple):
    """An output with its marks in it, and where in that each character of the output stands."""

    text: str
    places: tuple[int, ...]


class _Inside(NamedTuple):
    """The marks from `first` up to `last` are still to be placed, between these offsets."""

    first: int
    last: int
    low: int
    high: int


class Layout:
    """Places marks in an output by links."""

    def __init__(self, output: str, marks: Sequence[Mark], links: Iterable[Link]) -> None:
        self.output = output
        self.marks = marks
        self.links = [link._replace(target=self._within(*link.target)) for link in links]
        self.words = [match.span() for match in _WORD.finditer(output)]

    def order(self) -> list[Placed]:
        """Every mark once, offsets never falling; a stack, not recursion, for tags may be nested deeply."""
        found: list[Placed] = []
        waiting: list[Placed | _Inside] = [_Inside(0, len(self.marks), 0, len(self.output))]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Placed):
                found.append(item)
            else:
                waiting += reversed(self._level(item))
        return found

    def _level(self, inside: _Inside) -> list[Placed | _Inside]:
        """The marks of one level in the order of the output, each pushed behind the one before it."""
        items: list[Placed | _Inside] = []
        cursor = inside.low
        for start, end, number in sorted(self._siblings(inside)):
            start = min(max(start, cursor), inside.high)
            cursor = min(max(end, start), inside.high)
            items.append(Placed(start, number))
            if (partner := self.marks[number].partner) is not None:
                items += [_Inside(number + 1, partner, start, cursor), Placed(cursor, partner)]
        return items

    def _siblings(self, inside: _Inside) -> Iterator[tuple[int, int, int]]:
        number, tags = inside.first, 0
        while number < inside.last:
            mark = self.marks[number]
            start, end = self._span(mark)
            if mark.partner is None and mark.text.startswith("<"):
                start = end = tags = max(tags, start)
            yield start, end, number
            number = number + 1 if mark.partner is None else mark.partner + 1

    def _span(self, mark: Mark) -> tuple[int, int]:
        """Where a mark would like to be, or a pair with what it encloses."""
        close = mark if mark.partner is None else self.marks[mark.partner]
        if close.place == mark.place:
            place = self._position(mark)
            return place, place
        linked = [link for link in self.links if link.source[0] < close.place and link.source[1] > mark.place]
        if linked:
            return min(self._start(link, mark) for link in linked), max(self._end(link, close) for link in linked)
        first, last = self._shared(mark), self._shared(close)
        return next((start for start, _ in self.words if start >= first), first), last

    def _position(self, mark: Mark) -> int:
        before = max((link.source for link in self.links if link.source[0] < mark.place), default=None)
        after = min((link.source for link in self.links if link.source[0] >= mark.place), default=None)
        if before is None and after is None:
            return self._shared(mark)
        sticks = mark.free_before and not mark.free_after
        if after is not None and (before is None or sticks or after[0] - mark.place < mark.place - before[1]):
            return min(link.target[0] for link in self.links if link.source == after)
        return max(self._end(link, mark) for link in self.links if link.source == before)

    def _start(self, link: Link, mark: Mark) -> int:
        """Where a linked word begins behind a mark; a mark inside the word goes behind the same character."""
        start, head = link.target[0], mark.place - link.source[0]
        same = head > 0 and self.output[start + head - 1 : start + head] == mark.before
        return min(start + head, link.target[1]) if same else start

    def _end(self, link: Link, mark: Mark) -> int:
        """Where a linked word ends before a mark; a mark inside the word goes before the same character, or sort."""
        (start, end), tail = link.target, link.source[1] - mark.place
        if tail > 0 and start <= end - tail and self.output[end - tail] == mark.after:
            return end - tail
        while tail > 0 and mark.after in _STOPS and end > start and self.output[end - 1] in _STOPS:
            end -= 1
        return end

    def _shared(self, mark: Mark) -> int:
        """The end of a word as far through the output as the mark was through its text."""
        wanted = mark.share * len(self.output)
        place = min([0, *(end for _, end in self.words)], key=lambda place: abs(place - wanted))
        while mark.after in _STOPS and place and self.output[place - 1] in _STOPS:
            place -= 1
        return place

    def _within(self, start: int, end: int) -> tuple[int, int]:
        start = min(max(start, 0), len(self.output))
        return start, min(max(end, start), len(self.output))


def rendered(output: str, order: Sequence[Placed], marks: Sequence[Mark]) -> Rendered:
    """The output with marks where they were placed, and a space where two would touch that did not."""
    text, cursor, last = "", 0, None
    places: list[int] = []
    for offset, number in order:
        if offset > cursor:
            behind = _behind(marks, last, output[cursor:offset], output[cursor:])
            places += _places(len(text), len(behind), offset - cursor)
            text, last = text + behind, None
        text += (_before(text, marks[number]) if last is None else _between(marks, last, number)) + marks[number].text
        cursor, last = offset, number
    behind = _behind(marks, last, output[cursor:], output[cursor:])
    return Rendered(text + behind, (*places, *_places(len(text), len(behind), len(output) - cursor)))


def _places(start: int, length: int, count: int) -> Iterable[int]:
    """Where so many characters stand that became `length`: of a space that was put before them, or taken from there,
    the others know nothing."""
    return (max(start, start + length - count + number) for number in range(count))


def _before(text: str, mark: Mark) -> str:
    """The space between text and a mark."""
    end = text[-1:]
    opens = end in _OPENING or (end in _QUOTES and (not text[-2:-1].strip() or text[-2] in _OPENING))
    return "" if _loose(end) or opens or not mark.free_before or _closes(mark) else " "


def _between(marks: Sequence[Mark], last: int, number: int) -> str:
    if number == last + 1 and marks[number].place == marks[last].place:
        return " " if marks[number].apart else ""
    free = marks[last].free_after and marks[number].free_before
    return " " if free and not _opens(marks[last]) and not _closes(marks[number]) else ""


def _behind(marks: Sequence[Mark], last: int | None, text: str, rest: str) -> str:
    """Text behind a mark, if there is one, with the space between them."""
    if last is None or not text:
        return text
    if marks[last].glued:
        return text.removeprefix(" ")
    closing = rest[0] in _CLOSING or (rest[0] in _QUOTES and (_loose(rest[1:2]) or rest[1] in _CLOSING))
    tight = _loose(rest[0]) or closing or not marks[last].free_after or _opens(marks[last])
    return text if tight else f" {text}"


def _opens(mark: Mark) -> bool:
    return mark.partner is not None and not mark.text.startswith("</")


def _closes(mark: Mark) -> bool:
    return mark.partner is not None and mark.text.startswith("</")


def _loose(character: str) -> bool:
    """Whether nothing sticks to what stands here: nothing, white space, or a script without spaces."""
    return not character.strip() or _TIGHT.match(character) is not None
