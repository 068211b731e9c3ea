"""Entries of a GGUF file's metadata, asked for by name and by what they must be."""

from typing import TypeVar

from regard.convert.gguf.file import File, Value
from regard.errors import DataError
from regard.files import shown

T = TypeVar("T", int, float, str, bool)


def entry(file: File, name: str, kind: type[T]) -> T:
    """The entry of that name, which there has to be."""
    found = optional(file, name, kind)
    if found is None:
        raise DataError(f"{shown(file.path)} has no entry {name!r}; convert the model again.")
    return found


def optional(file: File, name: str, kind: type[T]) -> T | None:
    """The entry of that name, None if there is none."""
    found = file.metadata.get(name)
    return None if found is None else _one(file, name, found, kind)


def entries(file: File, name: str, kind: type[T]) -> list[T]:
    """All of a list, which there has to be."""
    found = file.metadata.get(name)
    if not isinstance(found, list):
        raise DataError(f"{shown(file.path)} has no list {name!r}; convert the model again.")
    return [_one(file, name, value, kind) for value in found]


def _one(file: File, name: str, found: Value, kind: type[T]) -> T:
    fits = isinstance(found, kind) if kind is not float else isinstance(found, int | float)
    if not fits or (isinstance(found, bool) and kind is not bool):
        raise DataError(
            f"{shown(file.path)}: {name} is a {type(found).__name__}, and this Regard reads it as {kind.__name__}."
        )
    return kind(found)  # type: ignore[arg-type]
