"""HTML through a translator that reads plain text: its tags are put aside, its entities are characters meanwhile."""

import html
import re
from collections import Counter
from collections.abc import Callable

from regard.text.placeholders import PATTERNS, TAG

_TAG = re.compile(PATTERNS[TAG])
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def opened(text: str) -> str:
    """The text with entities as what they stand for; those of brackets stay, lest they become tags.

    >>> opened('<b title="a&amp;b">Fish &amp; chips</b> &lt;i&gt;')
    '<b title="a&amp;b">Fish & chips</b> &lt;i&gt;'
    """
    return _outside_tags(text, _characters)


def closed(output: str, source: str) -> str:
    """What was written, as HTML: the tags of the source as they are, everything else as text.

    >>> closed("<b>Fisch & <script></b>", "<b>Fish & chips</b>")
    '<b>Fisch &amp; &lt;script&gt;</b>'
    """
    left, parts, done = Counter(_TAG.findall(source)), [], 0
    for match in _TAG.finditer(output):
        if left[match[0]]:
            left[match[0]] -= 1
            parts += [_escaped(output[done : match.start()]), match[0]]
            done = match.end()
    return "".join([*parts, _escaped(output[done:])])


def _outside_tags(text: str, change: Callable[[str], str]) -> str:
    parts, done = [], 0
    for match in _TAG.finditer(text):
        parts += [change(text[done : match.start()]), match[0]]
        done = match.end()
    return "".join([*parts, change(text[done:])])


def _characters(text: str) -> str:
    return _ENTITY.sub(lambda match: match[0] if html.unescape(match[0]) in "<>" else html.unescape(match[0]), text)


def _escaped(text: str) -> str:
    """Text as HTML has it; entities that were left in it are not escaped twice."""
    return html.escape(html.unescape(text), quote=False)
