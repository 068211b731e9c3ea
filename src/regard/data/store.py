"""Prepared examples on disk, read through a memory map: nothing is loaded, and any example is found at once.

A store is a folder with four files, all numbers little-endian:

    manifest.json   what this is: format number, columns, counts, sizes and checksums, fingerprint of its inputs
    pieces.bin      the tokens of all examples, one after another, an example's columns side by side (uint16 or uint32)
    offsets.bin     where in pieces.bin each example begins, and where the last one ends (uint64)
    lengths.bin     how many tokens each column of each example has (uint32)
"""

import mmap
import os
import weakref
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, UInt, UInt32

from regard.data.counts import Counts
from regard.data.manifest import DATA_FILES, LENGTHS, OFFSETS, PIECES, Manifest, Unusable
from regard.errors import ConfigError
from regard.files import FilePath, shown

# So many examples are counted at once.
SOME = 1 << 16


class Store:
    """The examples of one corpus as integer sequences."""

    def __init__(self, folder: Path, manifest: Manifest):
        self.folder = folder
        self.manifest = manifest
        self.columns = manifest.columns
        self._watched = [Watched(folder / name) for name in DATA_FILES]
        self._pieces = _mapped(folder / PIECES, manifest.piece)
        self._offsets = _mapped(folder / OFFSETS, "<u8")
        self.lengths: UInt32[np.ndarray, "N C"] = _mapped(folder / LENGTHS, "<u4").reshape(-1, len(self.columns))

    @classmethod
    def open(cls, folder: FilePath, summing: Callable[[FilePath], str] | None = None) -> "Store":
        """The store in a folder; its sizes are checked, and every byte where someone sums the files up."""
        folder = Path(folder)
        manifest = Manifest.load(folder)
        for name in DATA_FILES:
            _check_file(folder / name, manifest, summing)
        store = cls(folder, manifest)
        if int(store._offsets[0]) != 0 or int(store._offsets[-1]) != manifest.pieces:
            raise Unusable(f"{shown(folder / OFFSETS)} is damaged. Prepare the data again.")
        return store

    @property
    def counts(self) -> Counts:
        """What became of the rows this store was made from."""
        return Counts.of(self.manifest.counts)

    def __len__(self) -> int:
        return self.manifest.examples

    def __getitem__(self, index: int) -> dict[str, UInt[np.ndarray, " S"]]:
        """The tokens of each column: views into the map, nothing is copied."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"example {index} of {len(self)}")
        for file in self._watched:
            file.require_same()
        lengths = self.lengths[index].tolist()
        end = int(self._offsets[index % len(self) + 1])
        starts = list(accumulate(lengths, initial=int(self._offsets[index % len(self)])))
        if starts[-1] != end or end > self._pieces.size:
            raise Unusable(f"{shown(self.folder)}: example {index} is damaged. Prepare the data again.")
        return {name: self._pieces[starts[place] : starts[place + 1]] for place, name in enumerate(self.columns)}

    def occurrences(self, column: str, size: int) -> Int[np.ndarray, " size"]:
        """How often each of so many tokens stands in a column."""
        place, found = self.columns.index(column), np.zeros(size, dtype=np.int64)
        for file in self._watched:
            file.require_same()
        for first in range(0, len(self), SOME):
            lengths = self.lengths[first : first + SOME].astype(np.int64)
            begin, end = (int(self._offsets[at]) for at in (first, first + len(lengths)))
            if begin + int(lengths.sum()) != end or end > self._pieces.size:
                raise Unusable(f"{shown(self.folder)} is damaged. Prepare the data again.")
            own = np.repeat(np.tile(np.arange(len(self.columns)), len(lengths)), lengths.ravel()) == place
            found += np.bincount(self._pieces[begin:end][own], minlength=size)[:size]
        return found

    def __reduce__(self) -> tuple[Callable[..., "Store"], tuple[Any, ...]]:
        """Another process opens the same files; the bytes do not travel."""
        return Store.open, (self.folder,)


class Watched:
    """A file as it was when it was opened; reading a map of one that was cut short meanwhile would end the process."""

    def __init__(self, path: Path) -> None:
        self.path, self._descriptor = path, os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)
        self._stamp = self._state()

    def require_same(self) -> None:
        if self._state() != self._stamp:
            raise Unusable(f"{shown(self.path)} was changed while it was in use. Prepare the data again.")

    def _state(self) -> tuple[int, int]:
        status = os.fstat(self._descriptor)
        return status.st_size, status.st_mtime_ns


@runtime_checkable
class Examples(Protocol):
    """Integer sequences by number, with the length of each of their columns; a `Store` is that."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def lengths(self) -> UInt32[np.ndarray, "N C"]: ...

    @property
    def folder(self) -> Path: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> dict[str, UInt[np.ndarray, " _"]]: ...


class Joined:
    """Several stores as one: the examples of the first, then those of the second, and so on."""

    def __init__(self, stores: Sequence[Examples]):
        if len({store.columns for store in stores}) != 1:
            listing = ", ".join(f"{shown(store.folder)} has {', '.join(store.columns)}" for store in stores)
            raise ConfigError(f"Stores can be joined when their columns are the same: {listing or 'there is none'}.")
        self.stores = tuple(stores)
        self.columns = stores[0].columns
        self.starts = [0, *accumulate(len(store) for store in stores)]

    @property
    def lengths(self) -> list[UInt32[np.ndarray, "_ C"]]:
        """The lengths of each store, as batching takes them."""
        return [store.lengths for store in self.stores]

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, index: int) -> dict[str, UInt[np.ndarray, " S"]]:
        if not 0 <= index < len(self):
            raise IndexError(f"example {index} of {len(self)}")
        number = bisect_right(self.starts, index) - 1
        return self.stores[number][index - self.starts[number]]

    def take(self, indices: Int[np.ndarray, " N"]) -> list[dict[str, UInt[np.ndarray, " _"]]]:
        """The examples of one batch."""
        return [self[index] for index in indices.tolist()]


def _mapped(path: Path, kind: str) -> np.ndarray:
    """A file as a read-only array; an empty file cannot be mapped."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return np.empty(0, kind)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), kind)


def _check_file(path: Path, manifest: Manifest, summing: Callable[[FilePath], str] | None) -> None:
    recorded = manifest.files[path.name]
    try:
        size = path.stat().st_size
    except OSError as error:
        raise Unusable(f"Cannot read {shown(path)}: {error.strerror}. Prepare the data again.") from None
    if size != recorded.bytes:
        raise Unusable(f"{shown(path)} has {size:,} bytes, expected {recorded.bytes:,}. Prepare the data again.")
    if summing is not None and summing(path) != recorded.sha256:
        raise Unusable(f"{shown(path)} was altered: its checksum does not match. Prepare the data again.")
