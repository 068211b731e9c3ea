"""Strings and the same strings backwards: the smallest task that needs to look somewhere else at every step."""

import random

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def reversal(count: int, seed: int, shortest: int = 4, longest: int = 10) -> list[tuple[str, str]]:
    """`count` different strings of letters, each with itself reversed.

    >>> reversal(2, seed=1, shortest=3, longest=3)
    [('oub', 'buo'), ('mlq', 'qlm')]
    """
    draw = random.Random(seed)
    strings: dict[str, None] = {}
    while len(strings) < count:
        strings["".join(draw.choices(ALPHABET, k=draw.randint(shortest, longest)))] = None
    return [(string, string[::-1]) for string in strings]
