"""Words with their forms, and templates that put them into a sentence of each language at once.

A template's slot is the name of a table of words, with a digit where there are two: `{wear}`, `{wear2}`. Before the
slots may stand the name of a form, which the language's own module knows: `{der.A colour wear}`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Fields", "Form", "Lexeme", "Pattern", "class_of", "parsed", "sentence_case", "slots_of"]

Fields: TypeAlias = tuple[str, ...]
Form: TypeAlias = Callable[..., str]

HOLE = re.compile(r"\{([^}]*)\}")
START = re.compile(r"(^|[.?!] )(\w)")
SPACE_BEFORE = re.compile(r"\s+(?=[,.?!])")


@dataclass(frozen=True, eq=False)
class Lexeme:
    """A word with its forms in every language; the key names it among all words."""

    key: str
    english: str
    forms: Mapping[str, Fields]


def parsed(name: str, table: str, languages: tuple[str, ...]) -> tuple[Lexeme, ...]:
    """The words of a table: a line each, columns by language, fields separated by commas."""
    rows = [[column.split(",") for column in line.split("|")] for line in table.strip().splitlines()]
    stripped = [[tuple(field.strip() for field in fields) for fields in row] for row in rows]
    return tuple(Lexeme(f"{name}/{row[0][0]}", row[0][0], dict(zip(languages, row, strict=True))) for row in stripped)


def class_of(slot: str) -> str:
    """The class whose words a slot takes: `wear` for `wear2`."""
    return slot.rstrip("0123456789")


def slots_of(text: str, classes: Mapping[str, object]) -> tuple[str, ...]:
    """The different slots of a template's text, in the order they appear."""
    names = [name for hole in HOLE.findall(text) for name in hole.split()]
    return tuple(dict.fromkeys(name for name in names if class_of(name) in classes))


@dataclass(frozen=True)
class Pattern:
    """One language's side of a template: fixed text around holes, each a form and the slots it takes."""

    language: str
    texts: tuple[str, ...]
    holes: tuple[tuple[Form, tuple[int, ...]], ...]

    @classmethod
    def compiled(cls, language: str, text: str, slots: tuple[str, ...], form: Callable[[str], Form]) -> "Pattern":
        texts = HOLE.split(text)
        return cls(language, tuple(texts[::2]), tuple(_hole(hole, slots, form) for hole in texts[1::2]))

    def filled(self, filling: tuple[Lexeme, ...]) -> str:
        """The sentence with spaces between its words, not yet finished."""
        words = [lexeme.forms[self.language] for lexeme in filling]
        pieces = [form(*[words[slot] for slot in slots]) for form, slots in self.holes]
        return "".join(text + piece for text, piece in zip(self.texts, [*pieces, ""], strict=True))


def _hole(hole: str, slots: tuple[str, ...], form: Callable[[str], Form]) -> tuple[Form, tuple[int, ...]]:
    first, *others = hole.split()
    if first in slots:
        return _plain, (slots.index(first),)
    return form(first), tuple(slots.index(slot) for slot in others)


def _plain(word: Fields) -> str:
    return word[0]


def sentence_case(words: str) -> str:
    """Words with single spaces, none before punctuation, and a capital where a sentence begins."""
    spaced = SPACE_BEFORE.sub("", " ".join(words.split()))
    return START.sub(lambda match: match[1] + match[2].upper(), spaced)
