"""Rows of JSON lines: an object a row, a key a field."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from regard.data.rows import Fault, Row, Source
from regard.errors import DataError, unknown
from regard.files import byte_lines, decoded


def jsonl(source: Source) -> Iterator[Row | Fault]:
    """Rows of a file with one JSON object a line; a value that is not text becomes its JSON text."""
    (path,) = source.paths
    for number, line in enumerate(byte_lines(path, source.meter), 1):
        place = source.place(number)
        try:
            value = _object(decoded(line, place))
            fields = {name: _field(value, str(key), source.blank) for name, key in source.columns.items()}
        except Unfit as fault:
            yield Fault(place, fault.reason, f"{place}: {fault}")
        except DataError as error:
            yield Fault(place, "encoding", str(error))
        else:
            yield source.checked(Row(place, fields))


class Unfit(Exception):
    """Why a JSON value is no row."""

    def __init__(self, reason: str, sentence: str):
        super().__init__(sentence)
        self.reason = reason


class Structure(str):
    """The JSON of a list or an object, which is no text to learn from unless a task reads it."""


def as_text(key: str, value: Any) -> str:
    """A JSON value as text: a string as it is, anything else as compact JSON."""
    try:
        text = value if isinstance(value, str) else compact(value)
        text.encode("utf-8")
        text = Structure(text) if isinstance(value, list | dict) else text
    except UnicodeEncodeError:  # JSON can spell half a character ("\\ud800"), which no tokenizer takes
        raise Unfit("encoding", f"{key} holds half of a surrogate pair, which is no text.") from None
    except ValueError:
        raise Unfit("json", f"{key} holds NaN or infinity, which JSON has not.") from None
    return text


def compact(value: Any) -> str:
    """A value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unfit("json", f"not JSON ({error}).") from None
    if not isinstance(value, dict):
        raise Unfit("json", "expected an object in braces { }.")
    return value


def _field(value: Mapping[str, Any], key: str, blank: str) -> str:
    if key not in value:
        raise Unfit("key", unknown("key", key, value))
    if value[key] is not None:
        return as_text(key, value[key])
    if blank == "refuse":
        raise Unfit("empty", f"{key} is null.")
    return ""
