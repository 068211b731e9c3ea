"""Rows of SQuAD files (v1.1 and v2.0): a question a row, with its passage and where in it the answers stand."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from regard.data.jsonlines import Unfit, as_text
from regard.data.rows import Fault, Row, Source, content, first_encoding_fault
from regard.errors import DataError


class Asked(NamedTuple):
    """A question, and what stands around it."""

    place: str
    title: Any
    context: Any
    question: Mapping[str, Any]


def squad(source: Source) -> Iterator[Row | Fault]:
    """One row a question; an answer that does not stand where the file says is a fault."""
    for asked in _asked(_loaded(source), source.names[0]):
        try:
            fields = {name: VALUES[str(column)](asked) for name, column in source.columns.items()}
        except Unfit as fault:
            yield Fault(asked.place, fault.reason, f"{asked.place}: {fault}")
        else:
            yield source.checked(Row(asked.place, fields))


def _answers(asked: Asked) -> str:
    """A list of {"text", "start"} as JSON; it is empty if the passage does not tell."""
    if asked.question.get("is_impossible"):
        return "[]"
    context = as_text("context", asked.context)
    found = asked.question.get("answers")
    if not isinstance(found, list):
        raise Unfit("key", "it has no list of answers.")
    return as_text("answers", [_answer(entry, context) for entry in found])


def _answer(entry: Any, context: str) -> dict[str, str | int]:
    text, start = (entry.get("text"), entry.get("answer_start")) if isinstance(entry, dict) else (None, None)
    if not isinstance(text, str) or type(start) is not int:
        raise Unfit("type", "an answer needs a text and the number answer_start.")
    there = context[start : start + len(text)] if start >= 0 else ""
    if not text or there != text:
        raise Unfit("span", f"the answer {text[:60]!r} is said to start at {start}, but there stands {there[:60]!r}.")
    return {"text": text, "start": start}


def _own(key: str) -> Callable[[Asked], str]:
    def value(asked: Asked) -> str:
        if asked.question.get(key) is None:
            raise Unfit("key", f"it has no {key}.")
        return as_text(key, asked.question[key])

    return value


# What a column can be.
VALUES: dict[str, Callable[[Asked], str]] = {
    "question": _own("question"),
    "context": lambda asked: as_text("context", asked.context),
    "answers": _answers,
    "title": lambda asked: as_text("title", asked.title),
    "id": _own("id"),
}


def _loaded(source: Source) -> Any:
    raw, name = content(source), source.names[0]
    try:
        return json.loads(raw.decode("utf-8")) if raw else {"data": []}
    except json.JSONDecodeError as error:
        raise DataError(f"{name} line {error.lineno} column {error.colno}: not JSON ({error.msg}).") from None
    except UnicodeDecodeError:
        raise DataError(first_encoding_fault(raw, source).sentence) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name}: not JSON ({error}).") from None


def _asked(document: Any, name: str) -> Iterator[Asked]:
    for at, article in _entries(document, "data", name):
        for inner, paragraph in _entries(article, "paragraphs", at):
            for place, question in _entries(paragraph, "qas", inner):
                if not isinstance(question, dict):
                    raise DataError(f"{place}: expected a question as an object in braces {{ }}.")
                own = f"{name} question {question['id']}" if "id" in question else place
                yield Asked(own, article.get("title") or "", paragraph.get("context") or "", question)


def _entries(value: Any, key: str, place: str) -> Iterator[tuple[str, Any]]:
    """Each entry of a list, and where it stands."""
    entries = value.get(key) if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise DataError(f"{place}: expected an object with a list {key!r}. Is this a file in the format of SQuAD?")
    for number, entry in enumerate(entries):
        yield f"{place} {key}[{number}]", entry
