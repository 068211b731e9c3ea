"""The combinations that are kept from training, by a rule that never changes: no seed moves them.

A pair of words is kept apart in every template, and a word is kept from a template, where a hash of the two says so.
Words go by their English, so a pair is kept apart also where one of them stands in two tables.
"""

import hashlib
import struct
from functools import cache
from itertools import combinations

from regard.starter.phrases.grammar import Lexeme
from regard.starter.phrases.sentences import Filling, Template, uses

__all__ = ["are_kept_apart", "is_kept_from", "is_reserved", "numbers"]

# One in so many pairs of words, and of a template and a word, is reserved.
WORD_PAIRS = 20
TEMPLATE_PAIRS = 30
# A word at home in fewer templates is not kept from any of them, lest training miss it.
FEWEST_TEMPLATES = 4


def numbers(text: str, count: int) -> tuple[int, ...]:
    """Numbers that look random and are the same on every machine and Python, unlike `hash` and `random`."""
    return struct.unpack(f">{count}Q", hashlib.shake_128(text.encode()).digest(8 * count))


def is_reserved(template: Template, filling: Filling) -> bool:
    """Whether the sentence holds a combination that is kept from training."""
    return any(is_kept_from(template.name, word) for word in filling) or any(
        are_kept_apart(first, second) for first, second in combinations(filling, 2)
    )


@cache
def are_kept_apart(first: Lexeme, second: Lexeme) -> bool:
    """Whether no training sentence holds both words."""
    return numbers("+".join(sorted([first.english, second.english])), 1)[0] % WORD_PAIRS == 0


@cache
def is_kept_from(template: str, word: Lexeme) -> bool:
    """Whether no training sentence of this template holds the word."""
    return uses()[word.key] >= FEWEST_TEMPLATES and numbers(f"{template}:{word.english}", 1)[0] % TEMPLATE_PAIRS == 0
