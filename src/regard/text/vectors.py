"""Pretrained word vectors from text files, as GloVe and fastText write them."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from regard.errors import DataError
from regard.files import byte_lines


@dataclass(frozen=True)
class Vectors:
    """One row for every word that was found, in the order they were asked for."""

    words: tuple[str, ...]
    rows: Float32[np.ndarray, "words width"]
    asked: int

    @property
    def width(self) -> int:
        return int(self.rows.shape[1])

    @property
    def coverage(self) -> float:
        """The share of the words asked for that have a row."""
        return len(self.words) / max(self.asked, 1)


def read_vectors(path: Path, words: Iterable[str], lower: bool = True) -> Vectors:
    """The vectors of these words in a text file, plain or gzip, with or without a first line of counts.

    With `lower`, a word the file does not have takes the vector of its lower-cased form.
    """
    wanted = list(dict.fromkeys(words))
    forms = {form for word in wanted for form in _forms(word, lower)}
    found, width = _found(path, {_bytes(form) for form in forms})
    chosen = {word: row for word in wanted if (row := _first(found, _forms(word, lower))) is not None}
    rows = np.array(list(chosen.values()), dtype=np.float32).reshape(len(chosen), width)
    return Vectors(tuple(chosen), rows, len(wanted))


def first_words(path: Path, count: int) -> list[str]:
    """The first words of a file of vectors, which has the commonest first."""
    width, words = 0, []
    for _, line in islice(_lines(path), count):
        width = width or line.count(b" ")
        words.append(line.rsplit(b" ", width)[0].decode("utf-8", "replace"))
    return words


def _forms(word: str, lower: bool) -> list[str]:
    return [word, word.lower()] if lower else [word]


def _bytes(word: str) -> bytes:
    # Half a surrogate pair is in no file.
    return word.encode(errors="replace")


def _first(found: dict[bytes, list[float]], forms: list[str]) -> list[float] | None:
    return next((found[key] for key in map(_bytes, forms) if key in found), None)


def _found(path: Path, wanted: set[bytes]) -> tuple[dict[bytes, list[float]], int]:
    """The numbers behind each wanted word, and how many there are on a line."""
    found: dict[bytes, list[float]] = {}
    width = 0
    for number, line in _lines(path):
        # Some words of GloVe have spaces in them, so the numbers are counted from the right.
        width = width or line.count(b" ")
        word, *values = line.rsplit(b" ", width)
        if len(values) < width:
            raise DataError(f"{path} line {number}: {len(values)} numbers after the word, expected {width}.")
        # Where a word comes twice, the first is meant.
        if word in wanted and word not in found:
            found[word] = _numbers(values, f"{path} line {number}")
    if not width:
        raise DataError(f"{path} holds no vectors; a line is a word and its numbers, with spaces between.")
    return found, width


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers; empty ones, and a first line of counts as fastText writes it, left out."""
    for number, line in enumerate(byte_lines(path), start=1):
        line = line.rstrip(b"\r ")
        if line and not (number == 1 and _counts(line)):
            yield number, line


def _counts(line: bytes) -> bool:
    return len(line.split(b" ")) == 2 and all(part.isdigit() for part in line.split(b" "))


def _numbers(values: list[bytes], place: str) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except ValueError as error:
        raise DataError(f"{place}: {error}; after the word come its numbers.") from None
    if not all(map(math.isfinite, numbers)):
        raise DataError(f"{place}: a number that is not finite.")
    return numbers
