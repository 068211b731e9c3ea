"""Tags and placeholders taken out of a text before translation and put back behind it, each exactly once.

Going back, an opening and a closing tag that belong together enclose the words linked to what they enclosed, from the
first to the last; any other mark goes behind the words linked to the word before it or, where it is written in one with
the word behind it, before those. What no link places keeps its share of the way through the text. Pairs stay well
nested, marks inside a pair stay inside, and of two pairs that would cross the later one gives way. Tags that were not
well nested to begin with keep their order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html.entities import name2codepoint
from itertools import pairwise

from regard.errors import ConfigError
from regard.text.alignment import Link
from regard.text.patterns import CJK, CJK_MARKS
from regard.text.restoring import Layout, Mark, Rendered, rendered

TAG = "tag"

_ATTRIBUTES = r"""(?:\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*)?"""
_IN_URL = r"[A-Za-z0-9\-._~:/?#\[\]@!$&()*+,;=%]"

# What an entity stands for that is a letter belongs to its word.
_LETTERS = "|".join(sorted(name for name, number in name2codepoint.items() if chr(number).isalpha()))


def _nested(depth: int) -> str:
    """What may stand between braces, with so many levels of braces inside."""
    return rf"(?:[^{{}}]|\{{{_nested(depth - 1)}\}})*+" if depth else "[^{}]*+"


# Where two begin at one place, the first named is taken.
PATTERNS: Mapping[str, str] = {
    TAG: rf"</?[A-Za-z][\w:.\-]*{_ATTRIBUTES}/?>|<!--[^<>]*-->",
    "url": rf"(?:https?://|ftp://|www\.){_IN_URL}*[A-Za-z0-9/_=&#~+\-]",
    "mail": r"(?<![\w.+\-])[A-Za-z0-9_.+\-]{1,64}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63}){0,5}\.[A-Za-z]{2,24}",
    "double brace": r"\{\{[^{}]*\}\}",
    "dollar": r"[$%#]\{[^{}]*\}",
    "brace": r"\{[\w.!\-]*(?:\[[^\[\]{}]*\][\w.!\-]*)*(?::[^{}\s]*)?\}",
    "choice": rf"\{{\s*\w+\s*,\s*(?:plural|select|selectordinal|choice|number|date|time)\s*(?:,{_nested(3)})?\}}",
    "percent": r"(?<![\d%])%(?:\d+\$|\(\w+\)|<\w+>)?[\-+#0,]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[zjtL])?"
    r"[@sdiufFeEgGxXcr](?![A-Za-z])",
    "entity": rf"&(?!(?:{_LETTERS});)(?:#\d{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|[A-Za-z][A-Za-z0-9]{{1,31}});",
}

# In one expression with others a group has another number.
_BY_NUMBER = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[1-9]|\(\?\(\d)")
_NAME = re.compile(r"<(/?)([A-Za-z][\w:.\-]*)")
_WORD = re.compile(f"[^\\W{CJK}{CJK_MARKS}]")
_NO_SPACE_BEFORE = frozenset(".,;:!?…)]}")


@dataclass(frozen=True)
class Extracted:
    """The clean text, the marks in their order, and where each character of the clean text stood."""

    text: str
    marks: tuple[Mark, ...]
    places: tuple[int, ...] = ()


def extract(text: str, patterns: Mapping[str, str] = PATTERNS) -> Extracted:
    """Take out what matches a pattern; of the spaces around it one stays, and none at an edge or before punctuation.

    >>> extract("Hello <b>{name}</b>, see %s .").text
    'Hello, see.'
    """
    found = [match for match in _compiled(tuple(patterns.items())).finditer(text) if match[0]]
    kinds = [list(patterns)[int((match.lastgroup or "kind0").removeprefix("kind"))] for match in found]
    partners = _partners([match[0] if kind == TAG else "" for match, kind in zip(found, kinds, strict=True)])
    clean, cursor = "", 0
    beside: list[tuple[int, str, str, bool]] = []
    places: list[int] = []
    for numbers in _clusters(text, found):
        gaps, stop = _gaps(text, [found[number] for number in numbers])
        start = found[numbers[0]].start() - len(gaps[0])
        clean += text[cursor:start]
        sides = clean[-1:], text[stop : stop + 1]
        beside += [(len(clean), *each) for each in _beside(gaps, sides)]
        joint = _joint(gaps, sides, any(partners[number] is None for number in numbers))
        clean, places = clean + joint, [*places, *range(cursor, start), *[start] * len(joint)]
        cursor = stop
    clean += text[cursor:]
    marks = (
        Mark(match[0], kind, place, place / max(len(clean), 1), before, after, apart, partner)
        for match, kind, (place, before, after, apart), partner in zip(found, kinds, beside, partners, strict=True)
    )
    return Extracted(clean, tuple(marks), (*places, *range(cursor, len(text))))


def restore(output: str, marks: Sequence[Mark], links: Sequence[Link]) -> str:
    """The output with every mark in it once; links are between spans of the clean source and of the output."""
    return placed(output, marks, links).text


def placed(output: str, marks: Sequence[Mark], links: Sequence[Link]) -> Rendered:
    """The same, with where each character of the output has come to stand."""
    return rendered(output, Layout(output, marks, links).order(), marks)


def with_own(patterns: Sequence[str]) -> dict[str, str]:
    """All patterns, a reader's own first; one that cannot be used is a ConfigError."""
    found = {f"own {number}": pattern for number, pattern in enumerate(patterns, 1)} | dict(PATTERNS)
    _compiled(tuple(found.items()))
    return found


@lru_cache(maxsize=16)
def _compiled(patterns: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    # Without any pattern, one that never matches.
    joint, parts = re.compile("(?!)"), list[str]()
    for name, pattern in patterns:
        place = f"placeholder {name} = {pattern!r}"
        if _BY_NUMBER.search(pattern):
            raise ConfigError(f"{place} refers to a group by its number; give it a name.")
        parts.append(f"(?P<kind{len(parts)}>{pattern})")
        try:
            alone, joint = re.compile(pattern), re.compile("|".join(parts))
        except re.error as error:
            raise ConfigError(f"{place}: not a regular expression ({error}).") from None
        if alone.match(""):
            raise ConfigError(f"{place} matches where nothing stands; let it match a character at least.")
    return joint


def _partners(tags: Sequence[str]) -> list[int | None]:
    """For every tag the number of the other half of its pair; if any two cross, for none of them."""
    partners: list[int | None] = [None] * len(tags)
    opened: list[tuple[str, int]] = []
    lost: set[str] = set()
    for number, match in enumerate(map(_NAME.match, tags)):
        if match is None or tags[number].endswith("/>"):
            continue
        name = match[2]
        if not match[1]:
            opened.append((name, number))
        elif (depth := _deepest(opened, name)) is not None:
            partners[number], partners[opened[depth][1]] = opened[depth][1], number
            lost |= {other for other, _ in opened[depth + 1 :]}
            del opened[depth:]
        elif name in lost:
            return [None] * len(tags)
    return partners


def _deepest(opened: Sequence[tuple[str, int]], name: str) -> int | None:
    return next((depth for depth in reversed(range(len(opened))) if opened[depth][0] == name), None)


def _clusters(text: str, found: Sequence[re.Match[str]]) -> list[list[int]]:
    """The numbers of matches, those together that have nothing but white space between them."""
    clusters = [[0]] if found else []
    for number, (one, other) in enumerate(pairwise(found), 1):
        if text[one.end() : other.start()].strip():
            clusters.append([])
        clusters[-1].append(number)
    return clusters


def _gaps(text: str, cluster: Sequence[re.Match[str]]) -> tuple[list[str], int]:
    """The white space before, between and behind the matches of a cluster, and where it ends."""
    start, end = cluster[0].start(), cluster[-1].end()
    while start and text[start - 1].isspace():
        start -= 1
    while text[end : end + 1].isspace():
        end += 1
    ends = [start, *(place for match in cluster for place in match.span()), end]
    return [text[one:other] for one, other in zip(ends[::2], ends[1::2], strict=True)], end


def _beside(gaps: Sequence[str], sides: tuple[str, str]) -> list[tuple[str, str, bool]]:
    """What stands before and after each mark of a cluster, other marks not counted, and whether it stands apart."""
    spaces = [place for place, gap in enumerate(gaps) if gap] or [-1]
    befores = (" " if 0 <= spaces[0] <= place else sides[0] for place in range(len(gaps) - 1))
    afters = (" " if spaces[-1] > place else sides[1] for place in range(len(gaps) - 1))
    aparts = (place > 0 and bool(gap) for place, gap in enumerate(gaps[:-1]))
    return list(zip(befores, afters, aparts, strict=True))


def _joint(gaps: Sequence[str], sides: tuple[str, str], single: bool) -> str:
    """What remains between the text before a cluster and the text behind it."""
    before, after = sides
    if not before or not after or after in _NO_SPACE_BEFORE:
        return ""
    divides = single and _WORD.match(before) is not None and _WORD.match(after) is not None
    return next(filter(None, gaps), " " if divides else "")
