"""A store under construction: files that only grow, and a journal of how far they are whole.

After a kill, what the journal vouches for is kept and everything behind it is cut off.
"""

import json
import os
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import UInt, UInt32

from regard.data.manifest import DATA_FILES, LENGTHS, MANIFEST, OFFSETS, PIECES, Piece
from regard.errors import DataError
from regard.files import write_atomically

Texts: TypeAlias = dict[str, list[str]]
Encode: TypeAlias = Callable[[Texts], Mapping[str, Sequence[Sequence[int]]]]

JOURNAL = "journal.json"
# How much work a kill may cost.
JOURNAL_SECONDS = 1.0
BLOCK = 2**22


class Packed(NamedTuple):
    """Examples as they are stored: from how many rows, the lengths of their columns, all their tokens in a row."""

    rows: int
    lengths: UInt32[np.ndarray, "N C"]
    pieces: UInt[np.ndarray, " M"]


@dataclass(frozen=True)
class Encoding:
    """How texts become tokens: `encode` turns the fields of some rows into columns of tokens.

    It may give more or fewer examples than it got rows, the same number in every column, and must be picklable.
    `identity` says what it depends on (a tokenizer's checksum, settings): the store is rebuilt when it changes.
    """

    encode: Encode
    columns: tuple[str, ...]
    vocabulary: int
    identity: str

    @property
    def piece(self) -> Piece:
        return "<u2" if self.vocabulary <= 2**16 else "<u4"

    def __call__(self, texts: Texts) -> Packed:
        """The examples made from some rows."""
        encoded = self.encode(texts)
        columns = [encoded[name] for name in self.columns]
        lengths = np.array([[len(sequence) for sequence in column] for column in columns], "<u4").T
        pieces = np.fromiter(_interleaved(columns), np.int64, int(lengths.sum(dtype=np.int64)))
        if pieces.size and not 0 <= pieces.min() <= pieces.max() < self.vocabulary:
            raise DataError(f"Tokens from {pieces.min()} to {pieces.max()} for a vocabulary of {self.vocabulary}.")
        return Packed(len(next(iter(texts.values()))), np.ascontiguousarray(lengths), pieces.astype(self.piece))


class Building:
    """The growing files of a store, begun anew or taken up where the journal left them."""

    def __init__(self, folder: Path, identity: str):
        self.folder = folder
        self.identity = identity
        self.chunks = self.rows = self.examples = self.pieces = 0
        self._sums = dict.fromkeys(DATA_FILES, 0)
        self._files: dict[str, BinaryIO] = {}
        self._journaled = time.monotonic()

    def __enter__(self) -> "Building":
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in [MANIFEST, *(path.name for path in self.folder.glob(".*.part"))]:
            (self.folder / name).unlink(missing_ok=True)
        self._files = {name: open(self.folder / name, "a+b") for name in DATA_FILES}  # noqa: SIM115
        if not self._resume():
            self._restart()
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, packed: Packed) -> None:
        """Appends the examples of one chunk of rows."""
        ends = self.pieces + np.cumsum(packed.lengths.sum(1, dtype=np.uint64), dtype="<u8")
        self._append(PIECES, packed.pieces.tobytes())
        self._append(OFFSETS, ends.tobytes())
        self._append(LENGTHS, packed.lengths.tobytes())
        self.chunks += 1
        self.rows += packed.rows
        self.examples += len(packed.lengths)
        self.pieces += len(packed.pieces)
        if time.monotonic() - self._journaled >= JOURNAL_SECONDS:
            self.journal()

    def journal(self) -> None:
        """Brings everything to disk, then says so."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        with write_atomically(self.folder / JOURNAL) as file:
            file.write(json.dumps(self._state()).encode())
        self._journaled = time.monotonic()

    def _append(self, name: str, data: bytes) -> None:
        self._files[name].write(data)
        self._sums[name] = zlib.crc32(data, self._sums[name])

    def _restart(self) -> None:
        for file in self._files.values():
            file.truncate(0)
        self._append(OFFSETS, bytes(8))

    def _resume(self) -> bool:
        """Whether the journal is about this work and what it vouches for is there."""
        state = _journaled(self.folder / JOURNAL)
        if state.get("identity") != self.identity or not all(
            _is_whole(file, *state["files"][name]) for name, file in self._files.items()
        ):
            return False
        for name, file in self._files.items():
            size, self._sums[name] = state["files"][name]
            file.truncate(size)
        self.chunks, self.rows, self.examples, self.pieces = state["done"]
        return True

    def _state(self) -> dict[str, Any]:
        sizes = {name: file.seek(0, os.SEEK_END) for name, file in self._files.items()}
        return {
            "identity": self.identity,
            "done": [self.chunks, self.rows, self.examples, self.pieces],
            "files": {name: [sizes[name], self._sums[name]] for name in DATA_FILES},
        }


def _interleaved(columns: Sequence[Sequence[Sequence[int]]]) -> Iterable[int]:
    """All tokens, an example's columns side by side."""
    return chain.from_iterable(chain.from_iterable(zip(*columns, strict=True)))


def _journaled(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        state = json.loads(path.read_bytes())
        if isinstance(state, dict):
            return state
    return {}


def _is_whole(file: BinaryIO, size: int, expected: int) -> bool:
    """Whether the first `size` bytes have the sum the journal gives them: a power cut may lose what was written."""
    file.seek(0)
    found = 0
    while size and (block := file.read(min(size, BLOCK))):
        found, size = zlib.crc32(block, found), size - len(block)
    return size == 0 and found == expected
