"""Rows of JSON lines: an object a row, a key a field."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from regard.data.rows import Column, Fault, Row, Source
from regard.errors import DataError, unknown
from regard.files import byte_lines, decoded


def jsonl(source: Source) -> Iterator[Row | Fault]:
    """Rows of a file with one JSON object a line."""
    (path,) = source.paths
    for number, line in enumerate(byte_lines(path, source.meter), 1):
        place = source.place(number)
        try:
            fields = _texts(_object(decoded(line, place)), source.columns)
        except _JsonFault as fault:
            yield Fault(place, fault.reason, f"{place}: {fault}")
        except DataError as error:
            yield Fault(place, "encoding", str(error))
        else:
            yield source.checked(Row(place, fields))


class _JsonFault(Exception):
    """Why a line of JSON is no row."""

    def __init__(self, reason: str, sentence: str):
        super().__init__(sentence)
        self.reason = reason


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _JsonFault("json", f"not JSON ({error}).") from None
    if not isinstance(value, dict):
        raise _JsonFault("json", "expected an object in braces { }.")
    return value


def _texts(value: Mapping[str, Any], columns: Mapping[str, Column]) -> dict[str, str]:
    return {name: _text(value, str(key)) for name, key in columns.items()}


def _text(value: Mapping[str, Any], key: str) -> str:
    if key not in value:
        raise _JsonFault("key", unknown("key", key, value))
    text = value[key]
    if not isinstance(text, str):
        raise _JsonFault("type", f"{key} is {json.dumps(text)[:40]}, expected text in quotes.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # JSON can spell half a character ("\\ud800"), which no tokenizer takes
        raise _JsonFault("encoding", f"{key} holds half of a surrogate pair, which is no text.") from None
    return text
