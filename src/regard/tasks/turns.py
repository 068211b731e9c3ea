"""The turns of a conversation as a row has them: a JSON list of texts, or a text with something between turns."""

import json
from typing import Any

from regard.data import Structure

TAB = "\t"


def turns(text: str, between: str = TAB) -> list[str]:
    """The turns; a text that is no list of texts is one turn, or several with `between` between.

    >>> turns('["Hi!", "Hello."]'), turns("Hi! | Hello.", " | "), turns("[sic] Hi!")
    (['Hi!', 'Hello.'], ['Hi!', 'Hello.'], ['[sic] Hi!'])
    """
    found = _listed(text)
    if isinstance(found, list) and all(isinstance(turn, str) for turn in found):
        return found
    return text.split(between)


def fault(text: str) -> str:
    """What is wrong with the turns of a row, or nothing."""
    found = _listed(text)
    if isinstance(text, Structure) and not isinstance(found, list):
        return f"turns is {text[:40]}, a JSON object; give a JSON list of texts"
    wrong = [turn for turn in found if not isinstance(turn, str)] if isinstance(found, list) else []
    return f"turns holds {json.dumps(wrong[0])[:40]}, which is no text; give a JSON list of texts" if wrong else ""


def _listed(text: str) -> Any:
    """The JSON value of a text that looks like a list; None of any other."""
    if not text.lstrip().startswith("["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def last(text: str, count: int, between: str = TAB) -> list[str]:
    """The last turns of a conversation; all of them where `count` is 0."""
    return turns(text, between)[-count or None :]
