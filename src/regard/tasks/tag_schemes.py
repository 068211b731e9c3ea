"""Tags that mark entities word by word: IOB1, IOB2 and BIOES read, checked, mended and turned into one another.

IOB2 begins every entity with B-; IOB1 does so only right after another of the same type; BIOES also marks the last
word (E-) and entities of one word (S-). BILOU and BMES are BIOES by other letters, and are read as that.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import torch

from regard.models import Moves

Scheme: TypeAlias = Literal["iob1", "iob2", "bioes"]

OUTSIDE = "O"
PREFIXES: dict[str, str] = {"iob2": "BI", "bioes": "BIES"}
_TAG = re.compile(r"O|[BIESLUM]-\S+")
_OTHER_LETTERS = {"L": "E", "U": "S", "M": "I"}
_RULES = {
    "iob1": "in IOB1 an entity begins with I-, and with B- only right after another of its type",
    "iob2": "in IOB2 an entity begins with B- and goes on with I- of the same type",
    "bioes": "in BIOES an entity is S-, or B- I- ... E- of one type",
}


class Tagging(NamedTuple):
    """An entity by the numbers of its words, [first, end)."""

    label: str
    first: int
    end: int


def split(tag: str) -> tuple[str, str]:
    """The letter of a tag and its type.

    >>> split("B-PER"), split("U-LOC"), split("O")
    (('B', 'PER'), ('S', 'LOC'), ('O', ''))
    """
    letter, _, label = tag.partition("-")
    return _OTHER_LETTERS.get(letter, letter), label


def follows(scheme: Scheme, before: str, after: str) -> bool:
    """Whether one tag may stand after another; O stands for the text's beginning and end too."""
    (letter, label), (next_letter, next_label) = split(before), split(after)
    inside = letter in "BI" and label == next_label
    if scheme == "iob1":
        return next_letter in "OI" or (next_letter == "B" and inside)
    if scheme == "iob2":
        return next_letter in "OB" or (next_letter == "I" and inside)
    return inside and next_letter in "IE" if letter in "BI" else next_letter in "OBS"


def guessed(tags: Sequence[str]) -> Scheme:
    """The scheme a line of tags is in: no line with an entity fits both IOB1 and IOB2."""
    if any(split(tag)[0] in "ES" for tag in tags):
        return "bioes"
    return "iob1" if broken(tags, "iob2") and not broken(tags, "iob1") else "iob2"


def prevailing(lines: Iterable[Sequence[str]]) -> Scheme | Literal["auto"]:
    """The scheme that most lines with an entity are in; auto where two are as frequent.

    >>> prevailing([["B-PER"], ["O", "B-LOC"], ["I-PER"], ["O"]]), prevailing([["B-PER"], ["I-PER"]])
    ('iob2', 'auto')
    """
    found = Counter(guessed(tags) for tags in lines if set(tags) - {OUTSIDE} and not broken(tags, "auto"))
    ranked = found.most_common(2)
    tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    return ranked[0][0] if ranked and not tied else "auto"


def malformed(tags: Sequence[str]) -> str:
    """Which of these is no tag at all, in words; or nothing."""
    wrong = [(number, tag) for number, tag in enumerate(tags, 1) if not _TAG.fullmatch(tag)]
    return f"tag {wrong[0][0]} is {wrong[0][1]!r}; expected O, or B-, I-, E- or S- and a type" if wrong else ""


def broken(tags: Sequence[str], scheme: Scheme | Literal["auto"]) -> str:
    """Where a line of tags is not what its scheme says, in words; or nothing."""
    found: Scheme = guessed(tags) if scheme == "auto" else scheme
    line = [OUTSIDE, *tags, OUTSIDE]
    for number, (before, after) in enumerate(pairwise(line), 1):
        if not follows(found, before, after):
            place = f"tag {number} is {after} after" if number <= len(tags) else "the last tag is"
            return f"{place} {before}: {_RULES[found]}"
    return ""


def to_iob2(tags: Iterable[str]) -> list[str]:
    """The tags in IOB2, whatever scheme they are in; one that is broken as conlleval reads it.

    >>> to_iob2(["I-PER", "I-PER", "B-PER", "O", "I-LOC"]), to_iob2(["B-PER", "E-PER", "S-LOC"])
    (['B-PER', 'I-PER', 'B-PER', 'O', 'B-LOC'], ['B-PER', 'I-PER', 'B-LOC'])
    """
    found = []
    letter, label = OUTSIDE, ""
    for tag in tags:
        before = (letter, label)
        letter, label = split(tag)
        begins = letter in "BS" or before[1] != label or before[0] in "ES"
        found.append(OUTSIDE if letter == OUTSIDE else f"{'B' if begins else 'I'}-{label}")
    return found


def taggings(tags: Sequence[str]) -> list[Tagging]:
    """The entities of a line in IOB2, in order.

    >>> taggings(["B-PER", "I-PER", "O", "B-LOC"])
    [Tagging(label='PER', first=0, end=2), Tagging(label='LOC', first=3, end=4)]
    """
    firsts = [number for number, tag in enumerate(tags) if tag.startswith("B-")]
    return [Tagging(split(tags[first])[1], first, _end(tags, first)) for first in firsts]


def _end(tags: Sequence[str], first: int) -> int:
    end = first + 1
    while end < len(tags) and tags[end].startswith("I-"):
        end += 1
    return end


def written(found: Iterable[Tagging], words: int, scheme: Scheme = "iob2") -> list[str]:
    """The tags of so many words with these entities, in IOB2 or BIOES.

    >>> written([Tagging("PER", 0, 2), Tagging("LOC", 3, 4)], 4, "bioes")
    ['B-PER', 'E-PER', 'O', 'S-LOC']
    """
    tags = [OUTSIDE] * words
    for label, first, end in found:
        letters = ["B", *"I" * (end - first - 1)]
        if scheme == "bioes":
            letters[-1] = "S" if len(letters) == 1 else "E"
        tags[first:end] = [f"{letter}-{label}" for letter in letters]
    return tags


def inventory(labels: Sequence[str], scheme: Scheme) -> tuple[str, ...]:
    """All tags there are for these types.

    >>> inventory(["PER"], "iob2")
    ('O', 'B-PER', 'I-PER')
    """
    return (OUTSIDE, *(f"{letter}-{label}" for label in labels for letter in PREFIXES[scheme]))


class Recognized(NamedTuple):
    """The scheme that the tags of a model are all of, their types, and the number there of every tag there is here."""

    scheme: Literal["iob2", "bioes"]
    labels: tuple[str, ...]
    places: tuple[int, ...]


def recognized(tags: Sequence[str]) -> Recognized | None:
    """What these tags are, in whatever order; nothing where they are not all of IOB2 or BIOES for some types.

    >>> recognized(["I-PER", "O", "B-PER"])
    Recognized(scheme='iob2', labels=('PER',), places=(1, 2, 0))
    """
    named = [letter if letter == OUTSIDE else f"{letter}-{label}" for letter, label in map(split, tags)]
    labels = tuple(dict.fromkeys(label for _, label in map(split, tags) if label))
    for scheme in ("iob2", "bioes"):
        wanted = inventory(labels, scheme)
        if labels and sorted(named) == sorted(wanted):
            return Recognized(scheme, labels, tuple(map(named.index, wanted)))
    return None


def moves(tags: Sequence[str], scheme: Scheme) -> Moves:
    """Which tag may follow which, begin a text and end one."""
    between = torch.tensor([[follows(scheme, before, after) for after in tags] for before in tags])
    return Moves(between, between[0].clone(), between[:, 0].clone())
