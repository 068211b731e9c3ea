"""Checksums that are computed once: large inputs are not read again to learn that they did not change."""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.files import FilePath, checksum, require_file, write_atomically

# A file changed twice within one tick of the clock keeps its times; only files that have rested are remembered.
SETTLED_NANOSECONDS = 2 * 10**9


class Checksums:
    """The SHA-256 of files, remembered in a JSON file under their size, times and place on disk."""

    def __init__(self, memory: Path):
        self.memory = memory
        self.known = _remembered(memory)

    def __call__(self, path: FilePath) -> str:
        require_file(path)
        name, stamp, settled = _stamp(path)
        entry = self.known.get(name)
        if entry is not None and entry[0] == stamp:
            return str(entry[1])
        digest = checksum(path)
        if settled:
            self.known[name] = [stamp, digest]
        return digest

    def save(self) -> None:
        """Writes down what is known; a place where nothing can be written only costs time."""
        with suppress(DataError, OSError):
            self.memory.parent.mkdir(parents=True, exist_ok=True)
            with write_atomically(self.memory) as file:
                file.write(json.dumps(self.known, indent=1).encode())


def _remembered(memory: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        known = json.loads(memory.read_bytes())
        if isinstance(known, Mapping):
            return {name: entry for name, entry in known.items() if isinstance(entry, list) and len(entry) == 2}
    return {}


def _stamp(path: FilePath) -> tuple[str, list[int], bool]:
    state = os.stat(path)
    stamp = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev]
    settled = time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > SETTLED_NANOSECONDS
    return os.path.abspath(path), stamp, settled
