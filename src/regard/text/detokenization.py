"""From words back to text, by rule.

One space between two words, except: none beside a Chinese or Japanese character or mark; none before closing
punctuation or `. , ; : ! ? %`; none after opening punctuation or, where no number stands before it, `$ € £ # @ ¿ ¡`;
none around `/`. Straight quotes open and close in turn; `“` closes where `„` has opened; `'` after s, x or z, with no
such quote open, ends that word.
"""

import re
import unicodedata
from collections.abc import Iterable

from regard.text.patterns import CJK, CJK_MARKS

_TIGHT = re.compile(f"[{CJK}{CJK_MARKS}/]")
_BEFORE = frozenset(".,;:!?%…‰°™®")
_AFTER = frozenset("$€£#@¿¡")
_QUOTES = frozenset("\"'")


def join_words(words: Iterable[str]) -> str:
    """The text these words make.

    >>> join_words(["He", "said", ":", '"', "don't", "(", "ever", ")", "!", '"'])
    'He said: "don\\'t (ever)!"'
    >>> join_words(["我", "爱", "北", "京", "。"])
    '我爱北京。'
    """
    joined: list[str] = []
    opened: set[str] = set()
    glued = True
    for word in words:
        left, right = _sides(word, opened, joined[-1] if joined else "")
        joined += [word] if glued or left else [" ", word]
        glued = right
    return "".join(joined)


def _sides(word: str, opened: set[str], before: str) -> tuple[bool, bool]:
    """Whether a word sticks to the one before it, and to the one after it; notes the quotes it opens or closes."""
    if word in _QUOTES:
        return _quote(word, opened, before)
    if word == "„":
        opened.add("“")
    elif word == "“" and "“" in opened:
        opened.remove("“")
        return True, False
    tight = _TIGHT.fullmatch(word) is not None
    category = unicodedata.category(word) if len(word) == 1 else ""
    left = tight or word in _BEFORE or category in ("Pe", "Pf")
    leads = word in _AFTER and not before[-1:].isdigit()
    return left, tight or leads or category in ("Ps", "Pi")


def _quote(mark: str, opened: set[str], before: str) -> tuple[bool, bool]:
    if mark in opened:
        opened.remove(mark)
        return True, False
    if mark == "'" and before[-1:] in ("s", "S", "z", "x"):
        return True, False
    opened.add(mark)
    return False, True
