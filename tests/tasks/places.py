"""Rows of a test as they come from a file, with the lines they stand on."""

from collections.abc import Iterable, Mapping

from regard.data import Row


def placed(rows: Iterable[Mapping[str, str]]) -> list[Row]:
    return [Row(f"rows line {number}", dict(row)) for number, row in enumerate(rows, 1)]
