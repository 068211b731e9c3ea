"""From rows of text to a store: once, by several processes, resumed after a kill, reused while nothing changed.

Beside a store `train/` stands a hidden folder `.train.work/` with a lock, the unfinished store and known checksums.
The bytes of a store depend on its rows and its encoding only, not on the number of processes or interruptions.
"""

import fcntl
import hashlib
import json
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from regard.data.building import JOURNAL, Building, Encoding, Packed, Texts
from regard.data.checksums import Checksums
from regard.data.manifest import DATA_FILES, FORMAT, MANIFEST, Manifest, Unusable, record
from regard.data.rows import Row, Rows
from regard.data.store import Store
from regard.data.workers import ordered
from regard.errors import DataError
from regard.files import FilePath, shown, sync

CHUNK = 8192
# Starting processes takes longer than fewer chunks than these do.
MANY = 6


@dataclass(frozen=True)
class Progress:
    """How far the preparation is: rows done, share of the input read, seconds to go as far as can be told."""

    rows: int
    share: float
    seconds_left: float | None


def prepare(
    folder: FilePath,
    rows: Rows,
    encoding: Encoding,
    processes: int = 1,
    progress: Callable[[Progress], None] = lambda _: None,
    chunk: int = CHUNK,
) -> Store:
    """The store of these rows under this encoding: the one in `folder` if it is that, otherwise built there."""
    # A link is kept, and the store it points to replaced.
    folder = Path(os.path.realpath(folder)) if os.path.islink(folder) else Path(folder)
    work = folder.parent / f".{folder.name}.work"
    summing = Checksums(work / "inputs.json")
    task = _Preparation(folder, work, rows, encoding, processes, progress, chunk, summing)
    identity = task.identity()
    store = _reusable(folder, identity, summing)
    if store is None:
        with _failures_named(folder), _held(work, folder):
            store = _reusable(folder, identity, summing) or task.run(identity)
    summing.save()
    return store


@dataclass(frozen=True)
class _Preparation:
    folder: Path
    work: Path
    rows: Rows
    encoding: Encoding
    processes: int
    progress: Callable[[Progress], None]
    chunk: int
    summing: Checksums

    def identity(self) -> str:
        """A SHA-256 of everything the bytes of the store depend on."""
        encoding = [list(self.encoding.columns), self.encoding.vocabulary, self.encoding.identity]
        told = [FORMAT, self.rows.fingerprint(self.summing), encoding]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def run(self, identity: str) -> Store:
        for old in self.work.glob("old-*"):
            _discard(old)
        building = self.work / "building"
        # A kill between the last byte and the final name leaves a store that is done.
        if not _is_finished(building, identity, self.summing):
            self._build(building, identity)
        _publish(building, self.folder, self.work)
        return Store.open(self.folder)

    def _build(self, folder: Path, identity: str) -> None:
        with Building(folder, f"{identity} {self.chunk}") as building:
            self._fill(building)
            building.journal()
        if not building.examples:
            raise DataError(f"{self.rows}: no example is left.\n{self.rows.counts}")
        if self.identity() != identity:
            raise DataError(f"{self.rows} changed while being prepared. Start again.")
        self._manifest(building, identity).save(folder)
        (folder / JOURNAL).unlink()

    def _fill(self, building: Building) -> None:
        """Encodes the rows that are not in the building yet; those before them are read, not encoded."""
        rows = iter(self.rows)
        deque(islice(rows, building.rows), maxlen=0)
        # Rows nobody has read from yet have the meter of an earlier reading.
        started, share = time.monotonic(), self.rows.meter.share if building.rows else 0.0
        with closing(self._packed(_chunks(rows, self.chunk))) as chunks:
            for packed in chunks:
                building.add(packed)
                self.progress(self._progress(building.rows, started, share))

    def _packed(self, chunks: Iterator[Texts]) -> Generator[Packed, None, None]:
        first = list(islice(chunks, MANY))
        return ordered(self.encoding, chain(first, chunks), self.processes if len(first) == MANY else 1)

    def _progress(self, rows: int, started: float, before: float) -> Progress:
        share, seconds = self.rows.meter.share, time.monotonic() - started
        left = seconds * (1 - share) / (share - before) if share > before else None
        return Progress(rows, share, left)

    def _manifest(self, building: Building, identity: str) -> Manifest:
        return Manifest(
            columns=self.encoding.columns,
            piece=self.encoding.piece,
            rows=building.rows,
            examples=building.examples,
            pieces=building.pieces,
            fingerprint=identity,
            counts=self.rows.counts.plain(),
            files={name: record(building.folder / name) for name in DATA_FILES},
        )


def _chunks(rows: Iterator[Row], size: int) -> Iterator[Texts]:
    """The texts of `size` rows at a time, field by field."""
    while block := [row.fields for row in islice(rows, size)]:
        yield {name: [fields[name] for fields in block] for name in block[0]}


def _reusable(folder: Path, identity: str, summing: Checksums) -> Store | None:
    """The store in a folder if it is the one wanted, to the byte; a folder that is no store of ours is not touched."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        store = Store.open(folder, summing)
    except Unusable:
        return None
    return store if store.manifest.fingerprint == identity else None


def _is_finished(folder: Path, identity: str, summing: Checksums) -> bool:
    with suppress(DataError):
        return Store.open(folder, summing).manifest.fingerprint == identity
    return False


def _publish(building: Path, folder: Path, work: Path) -> None:
    """Gives a finished store its final name; what had it before (a store of ours) is put aside, then removed."""
    old = work / f"old-{secrets.token_hex(4)}"
    if folder.exists():
        os.rename(folder, old)
    os.rename(building, folder)
    sync(folder.parent)
    _discard(old)


def _discard(folder: Path) -> None:
    """Removes a store, and nothing that somebody else put into it."""
    for name in [MANIFEST, *DATA_FILES]:
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _held(work: Path, folder: Path) -> Iterator[None]:
    """Keeps others from preparing the same store; the system lets go when this process dies."""
    work.mkdir(parents=True, exist_ok=True)
    with open(work / "lock", "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"{shown(folder)} is being prepared by another process. Wait until it is done.") from None
        yield


@contextmanager
def _failures_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"Cannot prepare {shown(folder)}: {error.strerror or error}.") from error
