"""A source of several lines, a document or a conversation: each is cut by itself, with what stands between two texts
between them, so that its first word has the pieces it has elsewhere.

Words the tokenizer does not know get numbers of their own, behind those of all pieces: the first such word of a source
has the first slot, whatever it is, and what is written into a slot comes out as that word (Luong et al. 2015, "copyable
model"; with a pointer, See et al. 2017, 2.2).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from regard.text import Cut, Tokenizing
from regard.text.encoded import Span


@dataclass(frozen=True)
class Read:
    """The text of a source, its pieces, the characters each came from, and the words that stand in its slots."""

    text: str
    pieces: tuple[int, ...]
    spans: tuple[Span, ...]
    words: tuple[str, ...] = ()

    def part(self, start: int, stop: int, between: Collection[int]) -> "Read":
        """These pieces, without what stands between lines at either end."""
        while start < stop and self.pieces[start] in between:
            start += 1
        while start < stop and self.pieces[stop - 1] in between:
            stop -= 1
        return replace(self, pieces=self.pieces[start:stop], spans=self.spans[start:stop])

    def parts(self, room: int, between: Collection[int]) -> list["Read"]:
        """Parts of at most `room` pieces that cover all of it, cut between lines where that is not far off."""
        found, start, length = [], 0, len(self.pieces)
        while start < length:
            if self.pieces[start] in between:
                start += 1
                continue
            near = range(start + room, start + room // 2, -1)
            breaks = (place for place in near if length > near.start and self.pieces[place] in between)
            stop = next(breaks, min(near.start, length))
            found.append(self.part(start, stop, between))
            start = stop
        return found


@dataclass(frozen=True)
class Reader:
    """Lines to pieces, and pieces back to text, with `slots` for words the tokenizer does not know."""

    tokenizer: Tokenizing
    slots: int = 0

    def read(self, lines: Sequence[str]) -> Read:
        return self.read_many([lines])[0]

    def read_many(self, sources: Iterable[Sequence[str]]) -> list[Read]:
        """Each source; its characters are counted as if one stood between two lines."""
        sources = list(sources)
        cuts = iter(self.tokenizer.encode_many([line for lines in sources for line in lines]))
        return [self._joined(lines, [next(cuts) for _ in lines]) for lines in sources]

    def _joined(self, lines: Sequence[str], cuts: Sequence[Cut]) -> Read:
        pieces: list[int] = []
        spans: list[Span] = []
        start = 0
        for line, cut in zip(lines, cuts, strict=True):
            between = self.tokenizer.between if pieces and cut.ids else ()
            pieces += [*between, *cut.ids]
            spans += [(start, start)] * len(between) + [(start + first, start + last) for first, last in cut.spans]
            start += len(line) + 1
        return Read("\n".join(lines), tuple(pieces), tuple(spans))

    def numbered(self, read: Read) -> Read:
        """The same with the slots of its unknown words, in the order of these; too many words stay unknown."""
        unknown = _unknown(read.text, read.pieces, read.spans, self.tokenizer.unknown) if self.slots else []
        words = tuple(dict.fromkeys(word for word in unknown if word))[: self.slots]
        return replace(read, pieces=tuple(self._slotted(read.pieces, unknown, words)), words=words)

    def _slotted(self, pieces: Sequence[int], unknown: Sequence[str], words: Sequence[str]) -> list[int]:
        """Pieces, of which the unknown ones stand for these texts, with a slot for each that is among the words."""
        slots = {word: self.tokenizer.size + number for number, word in enumerate(words)}
        texts = iter(unknown)
        return [slots.get(next(texts), one) if slots and one == self.tokenizer.unknown else one for one in pieces]

    def write_many(self, texts: Sequence[str], known: Sequence[Sequence[str]]) -> list[list[int]]:
        """The pieces of targets; an unknown word that stands in a slot of its source is written as that slot."""
        cuts = self.tokenizer.encode_many(texts)
        if not self.slots:
            return [cut.ids for cut in cuts]
        unknown = (_unknown(cut.text, cut.ids, cut.spans, self.tokenizer.unknown) for cut in cuts)
        return [self._slotted(cut.ids, *found) for cut, *found in zip(cuts, unknown, known, strict=True)]

    def text(self, pieces: Sequence[int], words: Sequence[str] = ()) -> str:
        """The text of what was written after a source with these words in its slots."""
        size, unknown = self.tokenizer.size, self.tokenizer.unknown
        filled = [_nth(words, one - size) for one in pieces if one >= size]
        if not filled:
            return self.tokenizer.decode(pieces)
        plain = [unknown if one >= size else one for one in pieces if one != unknown]
        marked = self.tokenizer.decode(plain, self._mark).split(self._mark)
        return "".join(text for pair in zip(marked, [*filled, ""], strict=True) for text in pair)

    def names(self, pieces: Sequence[int], words: Sequence[str] = ()) -> tuple[str, ...]:
        """The pieces as text; a slot is its word."""
        size = self.tokenizer.size
        return tuple(_nth(words, one - size) if one >= size else self.tokenizer.piece(one) for one in pieces)

    def free(self, words: Sequence[str]) -> tuple[int, ...]:
        """The slots that hold no word of a source, and so can never be written after it."""
        return tuple(range(self.tokenizer.size + len(words), self.tokenizer.size + self.slots))

    @cached_property
    def _mark(self) -> str:
        """A character that is in no piece, to stand where a slot's word will."""
        used = set("".join(self.tokenizer.pieces))
        return next(mark for mark in map(chr, range(0xE000, 0xF900)) if mark not in used)


@dataclass(frozen=True)
class Filling:
    """Pieces written after one source, as a tokenizer makes text of its own: a slot is its word."""

    reader: Reader
    words: Sequence[str]

    def decode(self, ids: Iterable[int], unknown: str = "") -> str:
        return self.reader.text(list(ids), self.words)

    def piece(self, token: int) -> str:
        return self.reader.names([token], self.words)[0]


def _unknown(text: str, pieces: Sequence[int], spans: Sequence[Span], unknown: int) -> list[str]:
    """What stands in a text where a piece is unknown."""
    return [text[slice(*span)].strip() for one, span in zip(pieces, spans, strict=True) if one == unknown]


def _nth(words: Sequence[str], number: int) -> str:
    return words[number] if number < len(words) else ""
