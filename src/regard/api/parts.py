"""A long text answered part by part: what is done is kept on disk, and all of it joined in order at the end.

A part is known by what goes into its answer: the job (model, settings) and its very lines. So whoever begins again
keeps every part that is there, whole and still the answer to these lines, and makes the others.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import DataError
from regard.files import FilePath, byte_lines, claimed, shown, write_atomically
from regard.tasks.grouping import blocks


class Part(NamedTuple):
    """Some lines of a file that follow each other; `first` is the number of the first, counted from 1."""

    file: int
    number: int
    name: str
    first: int
    lines: list[bytes]

    def identity(self, job: str) -> str:
        """What tells this part of this job from any other."""
        told = hashlib.sha256(json.dumps([job, self.name, self.first, len(self.lines)]).encode())
        for line in self.lines:
            told.update(hashlib.sha256(line).digest())
        return told.hexdigest()


class Done(NamedTuple):
    """What a part was answered with, a line for each of its own, and what is to be told about it."""

    output: bytes
    told: Mapping[str, Any]


def cut(path: FilePath, name: str, size: int, file: int = 0) -> Iterator[Part]:
    """The lines of a file, `size` to a part, read as they are asked for."""
    for number, lines in enumerate(blocks(byte_lines(path), size)):
        yield Part(file, number, name, number * size + 1, lines)


class Work:
    """The folder beside an output where its parts are kept until all are there; nobody else may use it meanwhile."""

    def __init__(self, output: Path, job: str) -> None:
        self.folder, self.job = output.with_name(f"{output.name}.parts"), job
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise DataError(f"Cannot make the folder {shown(self.folder)}: {error.strerror}.") from None
        self.claim = claimed(self.folder)

    def kept(self, part: Part) -> Done | None:
        """The answer to a part, if it is there and whole."""
        identity = part.identity(self.job)
        found = _read(self._path(part.file, part.number))
        return None if found is None or found[0] != identity else found[1]

    def keep(self, part: Part, done: Done) -> None:
        """Put the answer to a part on disk; it has one line for each of the part, or there is a mistake in Regard."""
        if (given := done.output.count(b"\n")) != len(part.lines):
            raise AssertionError(f"{part.name}: {len(part.lines)} lines gave {given}.")
        head = {"identity": part.identity(self.job), "sha256": _digest(done.output), "told": dict(done.told)}
        with write_atomically(self._path(part.file, part.number)) as file:
            file.write(json.dumps(head).encode() + b"\n" + done.output)

    def join(self, file: int, count: int, output: Path) -> Iterator[Mapping[str, Any]]:
        """Write the parts of a file as one, and give what each has to tell."""
        output.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(output) as whole:
            for number in range(count):
                path = self._path(file, number)
                if (found := _read(path)) is None:
                    raise DataError(f"{shown(path)} was changed or removed meanwhile; the same command makes it again.")
                whole.write(found[1].output)
                yield found[1].told

    def close(self) -> None:
        """Remove the folder; the output is there."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.claim.release()

    def _path(self, file: int, number: int) -> Path:
        return self.folder / f"{file:06}-{number:08}"


def _read(path: Path) -> tuple[str, Done] | None:
    """The identity and the answer in a file; None if it is missing or not as it was written."""
    try:
        head, _, output = path.read_bytes().partition(b"\n")
        known = json.loads(head)
        sound = known["sha256"] == _digest(output)
        return (str(known["identity"]), Done(output, dict(known["told"]))) if sound else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
