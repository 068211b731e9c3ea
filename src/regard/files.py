"""Lines read exactly as they stand, and files that appear whole or not at all.

A line ends at "\\n" and nowhere else; one "\\r" right before it belongs to the end (Windows files), any other "\\r" is
text. The rule looks at one line only, so a piece of a file reads like the whole. Everything else survives: NUL, form
feeds, Unicode separators. A byte order mark at the very start is dropped.
"""

import fcntl
import gzip
import hashlib
import io
import os
import secrets
import stat
import sys
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

from regard.errors import DataError, nearest

__all__ = [
    "STANDARD_INPUT",
    "Claim",
    "FilePath",
    "Line",
    "Meter",
    "byte_lines",
    "checksum",
    "claimed",
    "comment",
    "count_lines",
    "decoded",
    "fingerprint",
    "lines",
    "opened",
    "require_file",
    "shown",
    "sync",
    "write_atomically",
]

FilePath: TypeAlias = str | Path

STANDARD_INPUT = "-"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
BLOCK = 2**17
# A file without newlines, or a small gzip of a huge one, must not fill the memory.
LONGEST_LINE = 64 * 2**20
# How many names of a folder are looked at for one that may have been meant.
NAMES = 2000


class Line(NamedTuple):
    """A line's text and its number, counted from 1."""

    number: int
    text: str


@dataclass
class Meter:
    """How many bytes have been read, of how many."""

    total: int = 0
    read: int = 0

    @property
    def share(self) -> float:
        return min(self.read / self.total, 1.0) if self.total else 1.0


def lines(path: FilePath, meter: Meter | None = None) -> Iterator[Line]:
    """The lines of a UTF-8 file, plain or gzip, or of standard input ("-")."""
    name = shown(path)
    for number, line in enumerate(byte_lines(path, meter), 1):
        yield Line(number, decoded(line, f"{name} line {number}"))


def byte_lines(path: FilePath, meter: Meter | None = None) -> Iterator[bytes]:
    """The lines of a file before decoding, without their ends."""
    number = 0
    with opened(path, meter) as stream, _faults_named(path, lambda: number + 1):
        while line := stream.readline(LONGEST_LINE + 1):
            if number == 0 and not (line := line.removeprefix(BYTE_ORDER_MARK)):
                return  # nothing but the mark
            number += 1
            if len(line) > LONGEST_LINE:
                raise DataError(
                    f"{shown(path)} line {number}: longer than {LONGEST_LINE // 2**20} MiB. Is this a text file?"
                )
            yield line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")


def decoded(line: bytes, place: str) -> str:
    """The text of a line, or a DataError that names the place and the byte."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = " It looks like UTF-16." if line[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise DataError(
            f"{place}: byte 0x{line[error.start]:02x} at byte {error.start + 1} is not UTF-8.{hint} "
            "Save the file as UTF-8."
        ) from None


def count_lines(path: FilePath) -> int:
    """How many lines `lines` gives, without decoding them."""
    count, last = 0, b"\n"
    with opened(path) as stream, _faults_named(path, lambda: count + 1):
        block = stream.read1(BLOCK).removeprefix(BYTE_ORDER_MARK)
        while block:
            count, last = count + block.count(b"\n"), block[-1:]
            block = stream.read1(BLOCK)
    return count + (last != b"\n")


def comment(path: FilePath) -> list[str]:
    """The comment a file begins with, a line each without its "#"; bytes that are not UTF-8 show as such."""
    text = Path(path).read_text("utf-8", errors="replace")
    return [line[1:].rstrip() for line in takewhile(lambda line: line.startswith("#"), text.splitlines())]


@contextmanager
def opened(path: FilePath, meter: Meter | None = None) -> Iterator[io.BufferedIOBase]:
    """The bytes of a file, or of standard input, unpacked if they begin like gzip."""
    if str(path) == STANDARD_INPUT:
        yield _unpacked(cast(io.BufferedIOBase, sys.stdin.buffer))
        return
    require_file(path)
    with closing(io.BufferedReader(_raw(path, meter), BLOCK)) as stream:
        with _faults_named(path, lambda: 1):
            unpacked = _unpacked(stream)
        yield unpacked


def require_file(path: FilePath) -> None:
    """A DataError unless this is a regular file: a folder has no lines, and a pipe without a writer never ends."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(_missing(Path(path))) from None
    except (OSError, ValueError) as error:
        raise DataError(f"Cannot read {shown(path)}: {_reason(error)}.") from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{shown(path)} is a folder, not a file.")
    if not stat.S_ISREG(mode):
        raise DataError(f"{shown(path)} is a pipe or device, not a file. Save it as a file first.")


@contextmanager
def write_atomically(path: FilePath) -> Iterator[BinaryIO]:
    """A file to write to that takes its final name only when all of it is on disk, replacing what was there."""
    if _is_device(path):
        with _failures_told(path), _device(path) as file:
            yield file
        return
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync(os.path.dirname(target))
    except OSError as error:
        if error.filename not in (None, temporary):
            raise  # about some other file
        raise DataError(f"Cannot write {shown(path)}: {_reason(error)}.") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _is_device(path: FilePath) -> bool:
    """Whether something stands there that is written into and cannot be replaced: /dev/null, a pipe, a terminal."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _device(path: FilePath) -> BinaryIO:
    # Without waiting: a pipe nobody reads is an error now, not a wait for ever.
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return open(descriptor, "wb")


@contextmanager
def _failures_told(path: FilePath) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise  # whoever read it has enough
    except OSError as error:
        raise DataError(f"Cannot write {shown(path)}: {_reason(error)}.") from error


class Claim:
    """A folder kept for whoever holds this: until it is released or dropped, or the process ends in any way."""

    def __init__(self, descriptor: int) -> None:
        self.release = weakref.finalize(self, os.close, descriptor)

    def __enter__(self) -> "Claim":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def claimed(folder: FilePath) -> Claim:
    """The claim on a folder that is there, or a DataError if another has it; nothing is written into it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ValueError) as error:
        raise DataError(f"Cannot use {shown(folder)}: {_reason(error)}.") from None
    claim = Claim(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DataError(
            f"{shown(folder)} is in use by another process. Wait until it is done, or name another folder."
        ) from None
    except OSError:
        pass  # a file system without locks; the claim then keeps nobody out
    return claim


def sync(path: FilePath) -> None:
    """Waits until a file's bytes, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checksum(path: FilePath) -> str:
    """The SHA-256 of a file's bytes as they lie on disk."""
    require_file(path)
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"Cannot read {shown(path)}: {_reason(error)}.") from error


def fingerprint(paths: Iterable[FilePath], summing: Callable[[FilePath], str] = checksum) -> str:
    """One SHA-256 for the contents of several files in this order; their names do not count."""
    return hashlib.sha256("".join(f"{summing(path)}\n" for path in paths).encode()).hexdigest()


def shown(path: FilePath) -> str:
    """A path as it may be printed: odd characters escaped."""
    return str(path) if str(path).isprintable() else repr(str(path))


class _MeteredFile(io.FileIO):
    """A file that adds what is read from it to a meter."""

    def __init__(self, path: FilePath, meter: Meter):
        super().__init__(path)
        self.meter = meter

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self.meter.read += count or 0
        return count


class _Unpacking(gzip.GzipFile):
    """A gzip file that gives what it has: to wait for a whole block would lose all before the place of a fault."""

    def readinto(self, buffer: Any) -> int:
        return self.readinto1(buffer)


def _raw(path: FilePath, meter: Meter | None) -> io.FileIO:
    try:
        return io.FileIO(path) if meter is None else _MeteredFile(path, meter)
    except OSError as error:
        raise DataError(f"Cannot read {shown(path)}: {_reason(error)}.") from None


def _unpacked(stream: io.BufferedIOBase) -> io.BufferedIOBase:
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream))
    # `peek`, not `read`: someone typing at a terminal has only sent one line.
    if not buffered.peek(len(GZIP)).startswith(GZIP):
        return buffered
    return io.BufferedReader(cast(io.RawIOBase, _Unpacking(fileobj=buffered)), BLOCK)


@contextmanager
def _faults_named(path: FilePath, line: Callable[[], int]) -> Iterator[None]:
    """What goes wrong while reading, as a DataError that says where."""
    try:
        yield
    except EOFError:
        raise DataError(f"{shown(path)} line {line()}: the gzip data end too early. Fetch the file again.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{shown(path)} line {line()}: damaged gzip data ({error}). Fetch the file again.") from None
    except OSError as error:
        raise DataError(f"Cannot read {shown(path)} line {line()}: {_reason(error)}.") from error


def _missing(path: Path) -> str:
    """The sentence for a file that is not there, with the nearest name where the path stops being right."""
    there = path
    while not there.parent.is_dir() and there.parent != there:
        there = there.parent
    with suppress(OSError), os.scandir(there.parent) as entries:
        names = [entry.name for entry in islice(entries, NAMES)]
        missing = "" if there == path else f" ({shown(there)} is not a folder)"
        return f"No file {shown(path)}{missing}.{nearest(there.name, names)}"
    return f"No file {shown(path)}."


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).removesuffix(".")
