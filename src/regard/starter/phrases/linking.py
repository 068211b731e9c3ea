"""Which words of a phrasebook's sentence and of its German translation belong together, as the grammar knows it.

Sure links are between words that fill the same slot, and between fixed words of one meaning where each stands once in
what is left. Possible links are what a careful reader would not call wrong: the words of a phrase among each other, an
auxiliary with its verb or subject, and what is left on one side (articles, particles) with what is left on the other.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from regard.errors import ConfigError
from regard.starter.phrases.grammar import Fields, Pattern, class_of
from regard.starter.phrases.sentences import Filling, Template, finished, templates

__all__ = ["Linked", "linked"]

LANGUAGES = ("en", "de")
Pair: TypeAlias = tuple[int, int]
# A slot, and of a person which name: by name, pronoun or possessive.
Key: TypeAlias = tuple[int, int]

# Words of one meaning that templates write themselves.
SAME = """
    and und | or oder | but aber | with mit | for für | than als | too zu | is ist liegt | please bitte | milk milch
    cup tasse | euros euro | cost kosten kostet | costs kostet | not nicht keine kein | that dass das | in in im
    if wenn | when wenn wann | because weil | where wo | why warum | while während | before bevor vor | you sie
    know weiß kennen | bought gekauft | lost verloren | gave gegeben | find finden | give geben | put legen | no kein
    closed geschlossen | visited besucht | visit besuchen | train zug | tickets fahrkarten karten | platform gleis
    nights nächte | night nacht | broken kaputt | works arbeitet | lives wohnt | speaks spricht | speak sprechen
    weather wetter | very sehr | since seit | happy froh | buy kaufen | drink trinken trinkt trinke | eaten gegessen
    never nie | yesterday gestern | money geld | need brauchen | ask fragen | forget vergessen | bring bringen
    wake wecken | already schon | today heute | time zeit | evening abends | rather lieber | unfortunately leider
    repair reparieren | how wie | good gut | says sagt | the der die das den dem | a ein eine einen einem einer
    an ein eine einen einem einer | this dieser diese dieses diesen diesem das | my mein meine meinen meinem meiner
    your ihr ihre ihren ihrem ihrer | it es er sie ihn | from von vom | opens öffnet | closes schließt | bus bus
    begins beginnt | forgot vergessen | come kommen | coming kommt | appointment termin | no nein kein keine
"""
MEANS = {words[0]: set(words[1:]) for entry in re.split(r"[|\n]", SAME) if (words := entry.split())}
MARKS = ",.?!"
# One word here, two in English: it may be linked to what is left although it has a link.
CONTRACTED = {"im", "am", "beim", "zum", "zur", "vom"}
# The two words of a German perfect, where templates write its second themselves.
HELPING = {"hat", "haben", "habe"}
PARTICIPLES = {"gekauft", "verloren", "gegeben", "gegessen", "besucht", "vergessen"}
ARTICLES = {"der", "der+", "die", "das"}
# So much of a word is one of its slot's forms; the rest is an ending.
ENOUGH = 0.6


@dataclass(frozen=True)
class Linked:
    """A sentence and its translation with the links between their words, counted from 0."""

    source: str
    target: str
    sure: frozenset[Pair]
    possible: frozenset[Pair]

    def __str__(self) -> str:
        """In Pharaoh form: 0-1 is sure, 0?1 possible."""
        told = [(pair, "-") for pair in self.sure] + [(pair, "?") for pair in self.possible - self.sure]
        return " ".join(f"{one}{mark}{other}" for (one, other), mark in sorted(told))


@dataclass
class Word:
    """A word on its way: its text, the slot it fills if any, and the hole it stands in."""

    text: str
    key: Key | None = None
    hole: int | None = None
    # What the hole speaks of, where none of it is written there: an auxiliary has a subject and a verb.
    about: frozenset[int] = field(default_factory=frozenset)

    @property
    def bare(self) -> str:
        return self.text.strip(MARKS).lower()


def linked(pairs: Iterable[tuple[str, str]]) -> list[Linked]:
    """The links of these sentences and translations, in their order; each must be the phrasebook's own."""
    found = []
    for number, pair in enumerate(pairs, 1):
        made = next(_makers(pair), None)
        if made is None:
            raise ConfigError(f"Sentence {number}, {pair[0][:40]!r}, is none of the English-German phrasebook.")
        found.append(_linked(*made, pair))
    return found


def _makers(pair: tuple[str, str]) -> Iterator[tuple[Template, Filling]]:
    """The templates and fillings that give this sentence and translation."""
    text = pair[0].casefold()
    for template in templates():
        if not _like(template.patterns["en"], text):
            continue
        choices = [
            [word for word in words if any(form.casefold() in text for form in word.forms["en"])]
            for words in template.choices
        ]
        for filling in product(*choices):
            if finished(LANGUAGES, template.draft(LANGUAGES, filling)) == pair:
                yield template, filling


def _like(pattern: Pattern, text: str) -> bool:
    """Whether a text has the fixed words of a pattern, in their order."""
    place = 0
    for part in " ".join(pattern.texts).casefold().split():
        place = text.find(part, place)
        if place < 0:
            return False
    return True


def _linked(template: Template, filling: Filling, pair: tuple[str, str]) -> Linked:
    source, target = (
        _words(template.patterns[language], filling, [class_of(slot) == "who" for slot in template.slots])
        for language in LANGUAGES
    )
    sure, possible = _by_slots(source, target)
    sure |= _by_meaning(source, target, _left(source, 0, sure | possible), _left(target, 1, sure | possible))
    left, right = _left(source, 0, sure | possible), _left(target, 1, sure | possible)
    right += [number for number, word in enumerate(target) if word.bare in CONTRACTED]
    possible |= set(product(left, right)) | _by_hole(source, target) | _by_tense(target, sure)
    return Linked(*pair, frozenset(sure), frozenset(possible - sure))


def _words(pattern: Pattern, filling: Filling, named: Sequence[bool]) -> list[Word]:
    """The words of one side in order; a mark belongs to the word before it."""
    forms = [lexeme.forms[pattern.language] for lexeme in filling]
    words: list[Word] = []
    glued = False
    for number, text in enumerate(pattern.texts):
        glued = _put(words, [Word(one) for one in text.split()], text, glued)
        if number < len(pattern.holes):
            form, slots = pattern.holes[number]
            piece = form(*[forms[slot] for slot in slots])
            plain = form.__name__ == "_plain" if hasattr(form, "__name__") else False
            inside = [Word(one, _key(one, slots, forms, named, plain), number) for one in piece.split()]
            if inside and all(word.key is None for word in inside):
                inside = [Word(word.text, None, number, frozenset(slots)) for word in inside]
            glued = _put(words, inside, piece, glued)
    return words


def _put(words: list[Word], new: list[Word], text: str, glued: bool) -> bool:
    """Add words; the first goes on with the last one where no space is between, or where it is a mark."""
    if not text:
        return glued
    if not new:
        return False
    if words and (new[0].text[0] in MARKS or (glued and not text[0].isspace())):
        words[-1].text += new[0].text
        new = new[1:]
    words.extend(new)
    return not text[-1].isspace()


def _key(word: str, slots: tuple[int, ...], forms: list[Fields], named: Sequence[bool], plain: bool) -> Key | None:
    """The slot whose forms the word is most like, if it is like any."""
    best, key = ENOUGH - 1e-9, None
    for slot in slots:
        for role, text in enumerate(forms[slot]):
            if named[slot] and (role == 3 or (not plain and role == 0)):
                continue
            alike = max((_alike(word, one) for one in text.split() if one not in ARTICLES), default=0.0)
            if alike > best:
                best, key = alike, (slot, role if named[slot] else 0)
    return key


def _alike(word: str, form: str) -> float:
    """How much of a word and a form is the same from the beginning; zu may stand inside a verb."""
    versions = (word, word.replace("zu", "", 1))
    return max(_prefix(one.lower(), form.lower()) / max(len(one), len(form), 1) for one in versions)


def _prefix(one: str, other: str) -> int:
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same


def _by_slots(source: list[Word], target: list[Word]) -> tuple[set[Pair], set[Pair]]:
    """Links of words with the same slot: sure between mention and mention, if there are as many of them."""
    sure: set[Pair] = set()
    possible: set[Pair] = set()
    for key in dict.fromkeys(word.key for word in source if word.key):
        ours, theirs = _mentions(source, key), _mentions(target, key)
        if len(ours) != len(theirs):
            possible |= {pair for one in ours for other in theirs for pair in product(one, other)}
            continue
        for one, other in zip(ours, theirs, strict=True):
            (sure if min(len(one), len(other)) == 1 else possible).update(product(one, other))
    return sure, possible


def _mentions(words: list[Word], key: Key) -> list[list[int]]:
    holes: dict[int | None, list[int]] = {}
    for number, word in enumerate(words):
        if word.key == key:
            holes.setdefault(word.hole, []).append(number)
    return list(holes.values())


def _left(words: list[Word], side: int, links: set[Pair]) -> list[int]:
    """The words without a link."""
    there = {pair[side] for pair in links}
    return [number for number in range(len(words)) if number not in there]


def _by_meaning(source: list[Word], target: list[Word], left: list[int], right: list[int]) -> set[Pair]:
    meant = [(one, other) for one, other in product(left, right) if target[other].bare in _meant(source[one])]
    return {pair for pair in meant if _once(meant, pair)}


def _meant(word: Word) -> set[str]:
    return MEANS.get(word.bare, set())


def _once(pairs: list[Pair], pair: Pair) -> bool:
    return sum(one == pair[0] or other == pair[1] for one, other in pairs) == 1


def _by_hole(source: list[Word], target: list[Word]) -> set[Pair]:
    """A verb that only agrees with its slots, with the words of those slots on the other side."""
    sides: Iterator[tuple[list[Word], list[Word], bool]] = iter([(source, target, False), (target, source, True)])
    found = set()
    for words, others, turned in sides:
        for one, other in product(range(len(words)), range(len(others))):
            key = others[other].key
            if key and key[0] in words[one].about:
                found.add((other, one) if turned else (one, other))
    return found


def _by_tense(target: list[Word], sure: set[Pair]) -> set[Pair]:
    """The helping word of a perfect, with what its participle is linked to."""
    helping = [number for number, word in enumerate(target) if word.about and word.bare in HELPING]
    return {(one, helper) for one, other in sure if target[other].bare in PARTICIPLES for helper in helping}
