"""A GGUF file: its metadata, and where each tensor lies. Nothing is believed before it is held against the length.

Layout (version 2 and 3, little-endian): magic, version, count of tensors, count of entries; the entries; for each
tensor its name, shape, type and offset; padding to the alignment; the data.
"""

import mmap
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from regard.convert.gguf.blocks import BLOCKS, dequantized
from regard.errors import DataError
from regard.files import require_file, shown

Value: TypeAlias = int | float | bool | str | list["Value"]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = 32
# Far above what files have; lists in lists, and shapes.
DEEPEST, MOST_DIMENSIONS = 4, 8

# Codes of the types of metadata, with how Python reads them.
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d"}
FORMS = {code: struct.Struct(f"<{code}") for code in NUMBERS.values()}
BOOLEAN, STRING, ARRAY = 7, 8, 9


@dataclass(frozen=True)
class Stored:
    """One tensor as it lies in the file: `shape` as torch has it, outermost first."""

    name: str
    shape: tuple[int, ...]
    type: int
    start: int
    size: int


@dataclass(frozen=True)
class File:
    """What a GGUF file holds."""

    path: Path
    metadata: Mapping[str, Value]
    tensors: Mapping[str, Stored]

    def tensor(self, name: str) -> Float[np.ndarray, "..."]:
        """One tensor in single precision."""
        stored = self.tensors[name]
        raw = self._bytes[stored.start : stored.start + stored.size]
        return dequantized(raw, stored.type).reshape(stored.shape)

    @cached_property
    def _bytes(self) -> np.memmap:
        return np.memmap(self.path, np.uint8, "r")


def opened(path: Path) -> File:
    """The GGUF file at this path, its tensors not read yet."""
    require_file(path)
    if path.stat().st_size < len(MAGIC):
        raise DataError(f"{shown(path)} is no GGUF file: it holds {path.stat().st_size} bytes.")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        reader = _Reader(path, data)
        tensors, entries = reader.header()
        metadata = reader.metadata(entries)
        found = [reader.tensor() for _ in range(tensors)]
        return File(path, metadata, reader.settled(found, metadata.get("general.alignment", ALIGNMENT)))


class _Reader:
    """Walks through the bytes before the data."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path, self.data, self.place, self.length = path, data, 0, len(data)

    def header(self) -> tuple[int, int]:
        """How many tensors and how many entries there are."""
        if self._take(4) != MAGIC:
            raise DataError(f"{shown(self.path)} is no GGUF file; it does not begin with {MAGIC.decode()}.")
        version = self._number("I")
        if version not in VERSIONS:
            swapped = " (it is big-endian)" if int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS else ""
            raise DataError(
                f"{shown(self.path)} has GGUF version {version}{swapped}, and this Regard reads 2 and 3; "
                "convert the model again with a current llama.cpp."
            )
        return self._number("Q"), self._number("Q")

    def metadata(self, entries: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for _ in range(entries):
            name = self._text()
            if name in found:
                raise self._damaged(f"its entry {name!r} occurs twice")
            found[name] = self._value(self._number("I"), 0)
        return found

    def tensor(self) -> Stored:
        """What is said of one tensor; its start counts from the data's."""
        name, dimensions = self._text(), self._number("I")
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise self._damaged(f"its tensor {name!r} has {dimensions} dimensions")
        shape = tuple(self._number("Q") for _ in range(dimensions))[::-1]
        kind, start = self._number("I"), self._number("Q")
        return Stored(name, shape, kind, start, self._size(name, shape, kind))

    def settled(self, tensors: list[Stored], alignment: Value) -> dict[str, Stored]:
        """The tensors by name, their starts counted from the file's."""
        if type(alignment) is not int or not 1 <= alignment <= 2**20:
            raise self._damaged(f"its general.alignment is {alignment!r}")
        data = -(-self.place // alignment) * alignment
        found: dict[str, Stored] = {}
        for one in tensors:
            if one.name in found:
                raise self._damaged(f"its tensor {one.name!r} occurs twice")
            if data + one.start + one.size > self.length:
                raise self._damaged(f"its tensor {one.name!r} ends after the file, which was perhaps cut short")
            found[one.name] = Stored(one.name, one.shape, one.type, data + one.start, one.size)
        return found

    def _size(self, name: str, shape: tuple[int, ...], kind: int) -> int:
        """How many bytes a tensor of this shape and type takes."""
        if kind not in BLOCKS:
            known = ", ".join(block.name for block in BLOCKS.values())
            raise DataError(
                f"{shown(self.path)}: tensor {name!r} has type {kind}, and this Regard reads {known}; "
                "quantize the model to one of these."
            )
        block = BLOCKS[kind]
        if prod(shape) == 0 or shape[-1] % block.values:
            raise self._damaged(f"its tensor {name!r} has shape {list(shape)}, in blocks of {block.values}")
        return prod(shape) // block.values * block.bytes

    def _value(self, kind: int, depth: int) -> Value:
        if kind == STRING:
            return self._text()
        if kind == BOOLEAN:
            return self._number("B") != 0
        if kind == ARRAY and depth < DEEPEST:
            return self._array(depth + 1)
        if kind not in NUMBERS:
            raise self._damaged(f"an entry has type {kind}")
        return self._unpacked(FORMS[NUMBERS[kind]])

    def _array(self, depth: int) -> list[Value]:
        kind, length = self._number("I"), self._number("Q")
        if kind in NUMBERS:
            form = np.dtype(NUMBERS[kind]).newbyteorder("<")
            return list(np.frombuffer(self._take(length * form.itemsize), form).tolist())
        one: Callable[[], Value] = partial(self._value, kind, depth)
        return [one() for _ in range(self._checked(length))]

    def _text(self) -> str:
        try:
            return self._take(self._number("Q")).decode("utf-8")
        except UnicodeDecodeError:
            raise self._damaged("a text in it is not UTF-8") from None

    def _number(self, code: str) -> int:
        return int(self._unpacked(FORMS[code]))

    def _unpacked(self, form: struct.Struct) -> int | float:
        (number,) = form.unpack(self._take(form.size))
        return number

    def _take(self, size: int) -> bytes:
        start, self.place = self.place, self.place + self._checked(size)
        return self.data[start : self.place]

    def _checked(self, size: int) -> int:
        if size > self.length - self.place:
            raise self._damaged(f"it ends at byte {self.length}, in the middle of its header")
        return size

    def _damaged(self, why: str) -> DataError:
        return DataError(f"{shown(self.path)} is damaged: {why}; fetch it again.")
