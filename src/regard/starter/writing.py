"""Rows written to files: a line of JSON each, columns between tabs, or any text."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from regard.errors import ConfigError
from regard.files import write_atomically
from regard.starter.growing import PARTS, Part

__all__ = ["json_lines", "parts", "table", "write"]

Row = TypeVar("Row")


def parts(make: Callable[[int, Part], Iterable[Row]], size: int, held_out: int) -> dict[Part, list[Row]]:
    """The rows of every part: `size` to train on, `held_out` each to validate and test with."""
    if size < 1:
        raise ConfigError(f"size = {size}: a corpus has at least 1 row to train on.")
    if held_out < 0:
        raise ConfigError(f"held_out = {held_out}: a part cannot have fewer than 0 rows.")
    return {part: list(make(size if part == "train" else held_out, part)) for part in PARTS}


def write(folder: Path, texts: Mapping[str, Iterable[str]]) -> dict[str, Path]:
    """Writes each text under its name, whole or not at all; the paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, pieces in texts.items():
        with write_atomically(folder / name) as file:
            file.writelines(piece.encode() for piece in pieces)
    return {name: folder / name for name in texts}


def json_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def table(columns: tuple[str, ...], rows: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """A header and a line per row, tabs between columns."""
    yield "\t".join(columns) + "\n"
    for row in rows:
        yield "\t".join(row[column] for column in columns) + "\n"
