"""Every template compiled, and the fillings it takes."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from types import ModuleType
from typing import TypeAlias

from regard.starter.phrases import chinese, english, german
from regard.starter.phrases.grammar import Lexeme, Pattern, class_of, parsed, slots_of
from regard.starter.phrases.templates import TEMPLATES
from regard.starter.phrases.words import UNIONS, WORDS

__all__ = ["LANGUAGES", "Draft", "Filling", "Template", "classes", "finished", "templates", "uses", "words_of"]

LANGUAGES: dict[str, ModuleType] = {"en": english, "de": german, "zh": chinese}

WORD = re.compile(r"\w+(?:[-']\w+)*")

Filling: TypeAlias = tuple[Lexeme, ...]
Draft: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Template:
    """A sentence with slots, in every language."""

    name: str
    slots: tuple[str, ...]
    patterns: Mapping[str, Pattern]

    @property
    def choices(self) -> list[tuple[Lexeme, ...]]:
        """The words each slot can take."""
        return [classes()[class_of(slot)] for slot in self.slots]

    def fillings(self) -> Iterator[Filling]:
        """Every way to fill the slots in which no English word stands twice."""
        names = [{word.english for word in words} for words in self.choices]
        alike = [(i, j) for i, j in combinations(range(len(names)), 2) if not names[i].isdisjoint(names[j])]
        fillings = product(*self.choices)
        if not alike:
            return fillings
        return (filling for filling in fillings if all(filling[i].english != filling[j].english for i, j in alike))

    def draft(self, languages: tuple[str, str], filling: Filling) -> Draft:
        """The sentence in two languages with spaces between its words, also in Chinese."""
        source, target = languages
        return self.patterns[source].filled(filling), self.patterns[target].filled(filling)


def words_of(text: str) -> set[str]:
    """The different words of a draft's side."""
    return set(WORD.findall(text))


def finished(languages: tuple[str, str], draft: Draft) -> tuple[str, str]:
    """The two sentences as they are written."""
    (source, target), (first, second) = languages, draft
    return LANGUAGES[source].finished(first), LANGUAGES[target].finished(second)


@cache
def classes() -> dict[str, tuple[Lexeme, ...]]:
    """The words a slot can take, by the name of its class."""
    tables = {name: parsed(name, table, tuple(LANGUAGES)) for name, table in WORDS.items()}
    unions = {name: tuple(word for part in parts for word in tables[part]) for name, parts in UNIONS.items()}
    return tables | unions


@cache
def templates() -> tuple[Template, ...]:
    """Every template of the phrasebook."""
    return tuple(_template(name, texts) for name, texts in TEMPLATES.items())


@cache
def uses() -> Counter[str]:
    """In how many templates each word can stand, by its key."""
    return Counter(
        key
        for template in templates()
        for key in {word.key for slot in template.slots for word in classes()[class_of(slot)]}
    )


def _template(name: str, texts: tuple[str, ...]) -> Template:
    slots = slots_of(texts[0], classes())
    sides = zip(LANGUAGES.items(), texts, strict=True)
    return Template(
        name,
        slots,
        {language: Pattern.compiled(language, text, slots, module.form) for (language, module), text in sides},
    )
