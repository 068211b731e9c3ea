"""Marked words in a text, `[PER:Anna Weber]`, and where they stand once the marks are taken out."""

import re
from typing import NamedTuple

__all__ = ["Marked", "unmarked"]

MARK = re.compile(r"\[(\w+):([^\]]*)\]")


class Marked(NamedTuple):
    """What was marked, and how: `text[start:end]` of the text without marks."""

    kind: str
    start: int
    end: int


def unmarked(text: str) -> tuple[str, list[Marked]]:
    """The text without marks, and what they were.

    >>> unmarked("[PER:Ann] left.")
    ('Ann left.', [Marked(kind='PER', start=0, end=3)])
    """
    plain, found, last = "", [], 0
    for mark in MARK.finditer(text):
        plain += text[last : mark.start()]
        found.append(Marked(mark[1], len(plain), len(plain) + len(mark[2])))
        plain, last = plain + mark[2], mark.end()
    return plain + text[last:], found
