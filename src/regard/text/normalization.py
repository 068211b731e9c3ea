"""Unicode normalization and lower-casing that remember which characters everything came from."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

Form = Literal["none", "nfc", "nfkc"]

_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """The text with every half of a surrogate pair, which no UTF-8 can hold, replaced by U+FFFD.

    >>> without_surrogates("a\\ud83db") == "a\\ufffdb"
    True
    """
    return _SURROGATE.sub("\ufffd", text)


class Normalization:
    """What is done to a text before it is cut: a Unicode form, lower-casing; the pieces in `keep` stay as they are."""

    def __init__(self, form: Form, lower: bool, keep: tuple[str, ...] = ()) -> None:
        self.form = form
        self.lower = lower
        # Longest first: one kept piece may begin with another.
        longest_first = sorted(keep, key=len, reverse=True)
        self.kept = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")") if keep else None

    def __call__(self, text: str) -> str:
        """The normal text."""
        if self.form == "none" and not self.lower:
            return text
        return "".join(part if fixed else self._change(part) for part, fixed in self.parts(text))

    def changes_nothing(self, text: str) -> bool:
        """Whether the normal text is the text."""
        return self(text) == text

    def origins(self, text: str) -> list[tuple[int, int]]:
        """For every character of the normal text, the span of `text` it came from."""
        origins: list[tuple[int, int]] = []
        place = 0
        for part, fixed in self.parts(text):
            found = [(i, i + 1) for i in range(len(part))] if fixed else self._origins(part)
            origins += [(place + start, place + end) for start, end in found]
            place += len(part)
        return origins

    def outside(self, text: str) -> list[str]:
        """The stretches of text between kept pieces."""
        return [part for part, fixed in self.parts(text) if part and not fixed]

    def parts(self, text: str) -> Iterator[tuple[str, bool]]:
        """The stretches of a text, and whether each is a kept piece."""
        # Splitting by a pattern with one group gives text and kept piece in turn.
        parts = self.kept.split(text) if self.kept else [text]
        return ((part, number % 2 == 1) for number, part in enumerate(parts))

    def _change(self, text: str) -> str:
        changed = self._formed(text)
        return changed.lower() if self.lower else changed

    def _formed(self, text: str) -> str:
        match self.form:
            case "nfc":
                return unicodedata.normalize("NFC", text)
            case "nfkc":
                return unicodedata.normalize("NFKC", text)
        return text

    def _origins(self, text: str) -> list[tuple[int, int]]:
        origins: list[tuple[int, int]] = []
        for start, end in self._segments(text):
            for character in self._formed(text[start:end]):
                origins += [(start, end)] * (len(character.lower()) if self.lower else 1)
        return origins

    def _segments(self, text: str) -> Iterator[tuple[int, int]]:
        """The smallest spans of the text that can be formed each on its own."""
        start = 0
        for place in range(1, len(text)):
            if self._apart(text[start:place], text[place]):
                yield start, place
                start = place
        if text:
            yield start, len(text)

    def _apart(self, before: str, character: str) -> bool:
        """Whether a character neither joins what stands before it nor changes places with it."""
        # Nothing below U+00A0 ever joins the character before it.
        if self.form == "none" or character < "\xa0":
            return True
        if unicodedata.combining(unicodedata.normalize("NFKD", character)[0]):
            return False
        return self._formed(before + character) == self._formed(before) + self._formed(character)
