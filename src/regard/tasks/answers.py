"""The right answers of a row, and where in its passage they stand.

A row has them as JSON: a list of {"text", "start"}, or of texts; or as one text. Where only texts are given, each must
stand in the passage once. No answer at all says that the passage does not tell.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from regard.errors import DataError

# So much of an answer is shown in an error.
SHOWN = 60


class Right(NamedTuple):
    """An answer, and the character of the passage it starts at."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def right(row: Mapping[str, str]) -> list[Right]:
    """The answers of a row, as many as people gave; a DataError where one does not stand where it is said to.

    >>> right({"passage": "It rained in Oslo.", "answers": "Oslo"})
    [Right(text='Oslo', start=13)]
    >>> right({"passage": "It rained in Oslo.", "answers": "[]"})
    []
    """
    return [_placed(entry, row["passage"]) for entry in _entries(row["answers"])]


def likeliest(answers: Sequence[Right]) -> Right | None:
    """The answer most people gave, the first of several; none if there is none."""
    return Counter(answers).most_common(1)[0][0] if answers else None


def written(answers: Sequence[Right]) -> str:
    """Answers as a row has them."""
    return json.dumps([answer._asdict() for answer in answers], ensure_ascii=False)


def _entries(given: str) -> list[Any]:
    """Each answer as it is written: a table, or a text."""
    if not given.strip():
        return []
    try:
        found = json.loads(given) if given.lstrip()[0] in "[{" else given
    except (ValueError, RecursionError):
        found = given
    if isinstance(found, dict) and isinstance(found.get("text"), list):
        found = _columns(found)
    # What begins like JSON can still be the words of an answer.
    known = isinstance(found, list) and all(isinstance(entry, dict | str) for entry in found)
    return list(found) if known else [given]


def _columns(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answers of a table of columns, as the hub has them."""
    texts, starts = table["text"], table.get("answer_start", table.get("start"))
    if not isinstance(starts, list) or len(starts) != len(texts):
        raise DataError(f"{len(texts)} answers need as many numbers in answer_start.")
    return [{"text": text, "start": start} for text, start in zip(texts, starts, strict=True)]


def _placed(entry: Any, passage: str) -> Right:
    if isinstance(entry, str):
        return _found(entry.strip(), passage)
    text, start = entry.get("text"), entry.get("start", entry.get("answer_start"))
    if not isinstance(text, str) or type(start) is not int:
        raise DataError(f"An answer needs a text and the number of its start, not {str(entry)[:SHOWN]!r}.")
    if not text.strip():
        raise DataError("An answer is empty; where there is none, the list is empty.")
    there = passage[start : start + len(text)] if start >= 0 else ""
    if there != text:
        raise DataError(f"The answer {text[:SHOWN]!r} is said to start at {start}; there stands {there[:SHOWN]!r}.")
    return Right(text, start)


def _found(text: str, passage: str) -> Right:
    """The one place where a text stands."""
    if not text:
        raise DataError("An answer is empty; where there is none, the list is empty.")
    start = passage.find(text)
    if start < 0:
        raise DataError(f"The answer {text[:SHOWN]!r} does not stand in the passage.")
    if passage.find(text, start + 1) >= 0:
        raise DataError(f'The answer {text[:SHOWN]!r} stands there more than once; give {{"text", "start"}}.')
    return Right(text, start)
