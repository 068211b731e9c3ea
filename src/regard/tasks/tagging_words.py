"""The words of a text that is to be tagged: where each stands, what it looks like, which letters it has."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from regard.errors import DataError
from regard.text.patterns import CJK, CJK_MARKS
from regard.text.sentences import ABBREVIATIONS

# How a text is cut; what comes from columns of words is always cut at spaces.
Cutting: TypeAlias = Literal["auto", "spaces", "characters"]

# So many characters of a word are read; what follows in a longer one (an address, noise) is passed over.
LONGEST = 64
FILE = "letters.json"

_SIGNS = r"\x21-\x2f:-@\[-^`{-~\u00a1-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u2010-\u2027\u2030-\u205e"
_SIGNS += r"\u20a0-\u20cf\u2190-\u2bff"
_LETTER = rf"[^\s{_SIGNS}{CJK}{CJK_MARKS}]"
_KINDS = (
    r"https?://\S*[\w/]",
    rf"{_LETTER}[\w.+-]*@[\w-]+(?:\.[\w-]+)+",
    # U.S., z.B., and U.S.-based; J. before another name.
    rf"(?:[^\W\d_]\.){{2,}}(?:-{_LETTER}+)*",
    r"[A-Z]\.(?=\s+[A-Z])",
    # 3.5, 1,000, 10:30, 1996/97, 2-1/2, 1990s.
    rf"\d+(?:[.,:/-]\d+)*{_LETTER}*(?:-{_LETTER}+)*",
    r"[A-Z]{1,3}\$",
    rf"{_LETTER}+(?:[-'’&]{_LETTER}+|\.(?=[a-z]){_LETTER}+)*",
    r"\.{2,}|-{2,}",
    r"\S",
)
_PATTERNS: dict[str, re.Pattern[str]] = {
    "auto": re.compile("|".join(_KINDS)),
    # A no-break space is a character of a word.
    "spaces": re.compile(r"[^\t-\r ]+"),
    "characters": re.compile(r"\S"),
}
# As most English corpora have it: do n't, it 's.
_ENDING = re.compile(r"(?i)(?<=\w)(?:n['’]t|['’](?:s|re|ve|ll|d|m))\Z")
# Words that stand with a point besides the abbreviations that end no sentence.
_POINTED = ABBREVIATIONS | {"co", "corp", "jan", "feb", "aug", "sept", "oct", "nov", "dec", "calif", "fla", "tex"}


class Word(NamedTuple):
    """A word and its span in the text, [start, end)."""

    text: str
    start: int
    end: int


def cut(text: str, how: Cutting) -> list[Word]:
    """The words of a text.

    >>> [word.text for word in cut("Mr. Smith of U.S.-based Acme doesn't pay $1.5.", "auto")]
    ['Mr.', 'Smith', 'of', 'U.S.-based', 'Acme', 'does', "n't", 'pay', '$', '1.5', '.']
    """
    spans = [match.span() for match in _PATTERNS[how].finditer(text)]
    if how == "auto":
        spans = [part for span in _pointed(text, spans) for part in _ended(text, span)]
    return [Word(text[start:end], start, end) for start, end in spans]


def _pointed(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans with the point of an abbreviation in the abbreviation's."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and text[start:end] == "." and start == found[-1][1] and text[slice(*found[-1])].lower() in _POINTED:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _ended(text: str, span: tuple[int, int]) -> list[tuple[int, int]]:
    """The span, or that of a word and of the short one written with it."""
    start, end = span
    found = _ENDING.search(text[start:end])
    return [(start, start + found.start()), (start + found.start(), end)] if found else [span]


LOOKS = ("sign", "small", "first", "capitals", "letter", "mixed", "digits", "both")


def look(word: str) -> int:
    """What kind of word this is by its capitals and digits, as a number in LOOKS.

    >>> [LOOKS[look(word)] for word in ("Paris", "EU", "J.", "said", "iPhone", "1996-08-22", "B2B", ",")]
    ['first', 'capitals', 'letter', 'small', 'mixed', 'digits', 'both', 'sign']
    """
    letters = [character for character in word if character.isalpha()]
    if any(character.isdigit() for character in word):
        return LOOKS.index("both" if letters else "digits")
    if not letters:
        return LOOKS.index("sign")
    return LOOKS.index(_cased("".join(letters)))


def _cased(letters: str) -> str:
    if letters == letters.lower():
        return "small"
    if len(letters) == 1:
        return "letter"
    if letters == letters.upper():
        return "capitals"
    return "first" if letters[1:] == letters[1:].lower() else "mixed"


@dataclass(frozen=True)
class Letters:
    """The characters words are read by; number 0 is any other."""

    known: tuple[str, ...]

    @classmethod
    def learn(cls, words: Mapping[str, int]) -> "Letters":
        """The letters of words that occur so often, the commonest first."""
        counts: Counter[str] = Counter()
        for word, count in words.items():
            for character in word:
                counts[character] += count
        return cls(tuple(sorted(counts, key=lambda letter: (-counts[letter], letter))))

    @classmethod
    def load(cls, files: Mapping[str, str]) -> "Letters":
        try:
            known = json.loads(files[FILE])
        except (KeyError, ValueError):
            known = None
        if not isinstance(known, list) or not all(isinstance(letter, str) for letter in known):
            raise DataError(f"{FILE} is missing or damaged; the model cannot read words by letters without it.")
        return cls(tuple(known))

    def files(self) -> dict[str, str]:
        return {FILE: json.dumps(self.known, ensure_ascii=True)}

    def __len__(self) -> int:
        return len(self.known) + 1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {letter: number for number, letter in enumerate(self.known, 1)}

    def read(self, word: str) -> list[int]:
        """The numbers of a word's letters."""
        return [self._numbers.get(letter, 0) for letter in word[:LONGEST]]


def counted(sentences: Iterable[Sequence[str]]) -> Counter[str]:
    """How often each word occurs."""
    return Counter(word for sentence in sentences for word in sentence)
