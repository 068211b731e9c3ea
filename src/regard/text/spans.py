"""Pieces merged into the words a reader sees, with the characters they cover."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.text.encoded import Span
from regard.text.patterns import CJK, CJK_MARKS
from regard.text.tokenizing import Cut

# A Chinese or Japanese character is a word; elsewhere a word is what stands between spaces.
_WORD = re.compile(rf"[{CJK}{CJK_MARKS}]|[^\s{CJK}{CJK_MARKS}]+")


@dataclass(frozen=True)
class Word:
    """A word, its span in the text, and the numbers of its pieces."""

    text: str
    span: Span
    pieces: tuple[int, ...]


def words(text: str, encoded: Cut) -> list[Word]:
    """The words of a text as its pieces show them: every piece is in exactly one word, in order.

    Words that share a piece become one. A piece of nothing but space goes with the word after it, and at the end of
    the text with the word before. A word of no piece at all (a tokenizer may pass over characters) has none.
    """
    return words_of(text, encoded.spans)


def words_of(text: str, spans: Sequence[Span]) -> list[Word]:
    """The words of a text whose pieces have these spans, as `words` gives them."""
    found = _joined(_words(text), spans)
    members: list[list[int]] = [[] for _ in found]
    for number, home in enumerate(_homes(found, spans)):
        members[home].append(number)
    return [Word(text[slice(*span)], span, tuple(pieces)) for span, pieces in zip(found, members, strict=True)]


def _words(text: str) -> list[Span]:
    """The spans of words; a text of nothing but space counts as one."""
    return [match.span() for match in _WORD.finditer(text)] or [(0, len(text))]


def _joined(found: Sequence[Span], pieces: Sequence[Span]) -> list[Span]:
    """The words, those that one piece reaches into made one. Both run forwards, so one walk is enough."""
    joined: list[Span] = []
    number = 0
    for start, end in found:
        # The pieces that end before this word cannot reach into it.
        while number < len(pieces) and pieces[number][1] <= start:
            number += 1
        if joined and number < len(pieces) and pieces[number][0] < joined[-1][1]:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _homes(found: Sequence[Span], pieces: Sequence[Span]) -> Iterator[int]:
    """For every piece, the first word that ends after the piece begins."""
    home = 0
    for start, _ in pieces:
        while home < len(found) - 1 and found[home][1] <= start:
            home += 1
        yield home
