"""Texts grown from rules, and the hash that says which combinations are kept from training.

A hole `{day}` in a text takes any line of the table `day`, which may have holes itself. A hole that ends in a digit,
`{day1}`, keeps its word through the whole text, and no other hole of that table gets the same. `{street:place1}` takes
a line of the table `street:museum` where `place1` was filled with "museum".
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from math import prod
from random import Random
from typing import Literal, TypeAlias, TypeVar

from regard.errors import ConfigError, unknown
from regard.starter.phrases.reserved import numbers

__all__ = [
    "PARTS",
    "Growth",
    "Part",
    "Rules",
    "different",
    "drawer",
    "grown_pair",
    "listed",
    "part_of",
    "sentences",
    "ways",
]

Part: TypeAlias = Literal["train", "valid", "test"]
Rules: TypeAlias = Mapping[str, Sequence[str]]
Row = TypeVar("Row")

PARTS: tuple[Part, ...] = ("train", "valid", "test")
# One in so many combinations belongs to validation, another to the test.
SHARE = 10
# So many rows in a row that were all seen before: the grammar has given all it has.
PATIENCE = 2000

HOLE = re.compile(r"\{(\w+)(?::(\w+))?\}")
DIGITS = "0123456789"
# Marks such as `[who:Anna Weber]` may stand around a word; see `marks`.
ARTICLE = re.compile(r"\b([Aa]) (?=(?:\[\w+:)?[aeiouAEIOU])")
START = re.compile(r"((?:^|[.?!] |\.\" )\"?(?:\[\w+:)?)(\w)")


class Growth:
    """The filling of one text: called with a text, gives it with every hole filled."""

    def __init__(self, draw: Random, rules: Rules) -> None:
        self.draw = draw
        self.rules = rules
        self.kept: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        return HOLE.sub(self._word, text)

    def any(self, texts: Sequence[str]) -> str:
        """One of the texts, filled."""
        return self(self.draw.choice(texts))

    def _word(self, hole: re.Match[str]) -> str:
        slot, of = hole[1], hole[2]
        if slot in self.kept:
            return self.kept[slot]
        if of:
            return self.any(self.rules[f"{slot}:{self.kept[of]}"])
        return self._kept(slot) if slot[-1] in DIGITS else self.any(self.rules[slot])

    def _kept(self, slot: str) -> str:
        table = slot.rstrip(DIGITS)
        taken = {word for other, word in self.kept.items() if other.rstrip(DIGITS) == table}
        words = iter(lambda: self.any(self.rules[table]), None)
        self.kept[slot] = next(word for word in words if word not in taken)
        return self.kept[slot]


def listed(words: str) -> list[str]:
    """The words of a table that is written on one line, commas between.

    >>> listed("red, light blue")
    ['red', 'light blue']
    """
    return words.split(", ")


def ways(rules: Rules, text: str) -> int:
    """In how many ways the holes of a text can be filled.

    >>> ways({"day": ["Monday", "Tuesday", "{far} day"], "far": ["another", "the last"]}, "{day1}, {day1}, {day2}")
    12
    """
    return _ways(rules, text, {})


def _ways(rules: Rules, text: str, totals: dict[str, int]) -> int:
    """`totals` remembers how many texts each table has."""
    slots = [slot for slot, of in HOLE.findall(text) if not of]
    free = [slot for slot in slots if slot[-1] not in DIGITS]
    kept = [slot.rstrip(DIGITS) for slot in dict.fromkeys(slots) if slot[-1] in DIGITS]
    for table in {*free, *kept} - totals.keys():
        totals[table] = sum(_ways(rules, line, totals) if "{" in line else 1 for line in set(rules[table]))
    taken = [kept[:index].count(table) for index, table in enumerate(kept)]
    chosen = [totals[table] - number for table, number in zip(kept, taken, strict=True)]
    return prod([*(totals[table] for table in free), *chosen])


def sentences(text: str) -> str:
    """The text with `an` where a vowel follows and a capital where a sentence begins.

    >>> sentences("she saw a owl. a mouse ran.")
    'She saw an owl. A mouse ran.'
    """
    return START.sub(lambda start: start[1] + start[2].upper(), ARTICLE.sub(r"\1n ", text))


@cache
def part_of(combination: str) -> Part:
    """The part that a combination of words belongs to, whatever the seed."""
    return {0: PARTS[1], 1: PARTS[2]}.get(numbers(combination, 1)[0] % SHARE, PARTS[0])


def drawer(seed: int, part: Part) -> Random:
    """The source of chance for one part."""
    if part not in PARTS:
        raise ConfigError(unknown("part", part, PARTS))
    return Random(f"{seed} {part}")


def grown_pair(draw: Random, rules: Rules, name: str, pair: str, part: Part) -> Growth:
    """A filling of the holes in `pair` that belongs to the part."""
    for _ in range(PATIENCE):
        growth = Growth(draw, rules)
        if part_of(f"{name}: {growth(pair)}") == part:
            return growth
    raise ConfigError(f"part = {part}: no pair {pair} of {name} belongs to it. Give its tables more words.")


def different(make: Callable[[], Row], key: Callable[[Row], Hashable], count: int) -> Iterator[Row]:
    """`count` rows of which no two have the same key."""
    if count < 0:
        raise ConfigError(f"count = {count}: there cannot be fewer than 0 rows.")
    return islice(_unseen(make, key, count), count)


def _unseen(make: Callable[[], Row], key: Callable[[Row], Hashable], count: int) -> Iterator[Row]:
    seen: set[Hashable] = set()
    missed = 0
    while missed < PATIENCE:
        row = make()
        missed = missed + 1 if key(row) in seen else 0
        if not missed:
            seen.add(key(row))
            yield row
    raise ConfigError(f"count = {count}: the grammar has given {len(seen)} different rows. Ask for no more.")
