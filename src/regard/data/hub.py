"""Corpora by their Hugging Face name: fetched once, on request, and kept as JSON lines like any other file."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.data.settings import CorpusSettings
from regard.errors import ConfigError, DataError
from regard.files import write_atomically


def local(settings: CorpusSettings, root: str) -> CorpusSettings:
    """The corpus as files at hand; one named by `dataset` is fetched into `root/hub` unless it already is there."""
    if settings.dataset is None:
        return settings
    name = _name(settings)
    path = Path(root) / "hub" / f"{name}.jsonl"
    if not path.exists():
        _write(path, settings)
    given = settings.model_dump(exclude_unset=True, exclude={"dataset", "subset", "split", "columns"})
    # The fields stand under their own names in the file.
    return CorpusSettings(path=f"hub/{name}.jsonl", columns={field: field for field in settings.columns}, **given)


def _name(settings: CorpusSettings) -> str:
    """What the rows are called on disk: readable, and told apart by everything that decides about them."""
    told = [settings.dataset, settings.subset, settings.split, settings.columns]
    identity = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]
    parts = (settings.dataset, settings.subset, settings.split, identity)
    return re.sub(r"[^A-Za-z0-9.]+", "-", "--".join(part for part in parts if part)).strip("-")


def _write(path: Path, settings: CorpusSettings) -> None:
    rows = _fetched(settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as file:
        for number, row in enumerate(rows, 1):
            fields = {field: _value(row, str(column), number) for field, column in settings.columns.items()}
            file.write(_line(fields, number))


def _line(fields: Mapping[str, Any], number: int) -> bytes:
    try:
        return json.dumps(fields, ensure_ascii=False).encode() + b"\n"
    except TypeError as error:
        raise DataError(f"Row {number} is not text: {error}. Choose other columns.") from None


def _fetched(settings: CorpusSettings) -> Iterator[Mapping[str, Any]]:
    try:
        import datasets
    except ImportError:
        raise ConfigError(
            f"dataset = {settings.dataset!r} needs the package `datasets`: pip install 'regard[hub]'."
        ) from None
    try:
        # Whatever goes wrong in there (no network, no such name, no such split) has its own words.
        found = datasets.load_dataset(settings.dataset, settings.subset, split=settings.split)
    except Exception as error:
        raise DataError(
            f"Cannot fetch dataset {settings.dataset!r}, split {settings.split!r}: {type(error).__name__}: {error}. "
            "Check the name and the network, or give files."
        ) from None
    return iter(found)


def _value(row: Mapping[str, Any], column: str, number: int) -> Any:
    """The value under a dotted name such as `translation.en`."""
    value: Any = row
    for step in column.split("."):
        if not isinstance(value, Mapping) or step not in value:
            raise DataError(f"Row {number} has no {column!r}; its columns are {', '.join(map(str, row))}.")
        value = value[step]
    return value
