"""Bundles on disk: appearing whole or not at all, and read only if they are what they were."""

import os
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import safetensors
import torch

from regard.bundle.contents import Bundle, parsed, rendered
from regard.bundle.foreign import MANIFEST, PARAMETERS, leftovers, names
from regard.bundle.identity import AGAIN, FileRecord, Manifest, digest, manifest, require_plain
from regard.errors import DataError
from regard.files import shown, sync

DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "BOOL": "bool"}

# How often, and after how many seconds, a bundle is read again that was replaced while it was being read.
TRIES, PAUSE = 25, 0.02


class Parameter(NamedTuple):
    """A stored tensor, without its values."""

    name: str
    shape: tuple[int, ...]
    dtype: str


def save(folder: Path, bundle: Bundle) -> None:
    """Write a bundle; one that has the name is replaced whole, a folder with anything else in it is refused.

    A kill at any instant leaves the earlier bundle or the new one. A name cannot pass from folder to folder in one
    step: between two renames neither has it, the earlier one stands beside it, and `load` says where.
    """
    final = Path(os.path.realpath(folder))
    _require_replaceable(final)
    files = rendered(bundle)
    part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        _write(part, files)
        _put(part, final)
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"Cannot save a bundle as {shown(folder)}: {reason}; what was there is untouched.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def load(folder: Path, device: str | torch.device = "cpu") -> Bundle:
    """The bundle in a folder, every byte of it as it was saved, or a DataError."""
    known, files = _steady(folder)
    return parsed(files, known, folder, device)


def shapes(folder: Path) -> list[Parameter]:
    """Every stored tensor by name, from the head of its file: none is loaded, so checksums are not looked at."""
    known = _whole(folder)
    path = folder / PARAMETERS
    _require_size(path, known.files[PARAMETERS])
    try:
        with safetensors.safe_open(path, "pt") as stored:
            slices = {name: stored.get_slice(name) for name in sorted(stored.keys())}
            return [_parameter(name, part.get_shape(), part.get_dtype()) for name, part in slices.items()]
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise DataError(f"{shown(path)} is damaged ({error}). {AGAIN}") from None


def _steady(folder: Path) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest and the files of one bundle; begun again if another took its place meanwhile."""
    for _ in range(TRIES):
        before = _number(folder)
        try:
            known = _whole(folder)
            return known, {name: _content(folder / name, record) for name, record in known.files.items()}
        except DataError:
            if before == _number(folder) and (before is not None or not leftovers(folder, "old")):
                raise
            time.sleep(PAUSE)
    known = _whole(folder)
    return known, {name: _content(folder / name, record) for name, record in known.files.items()}


def _number(folder: Path) -> tuple[int, int, int] | None:
    """What tells a folder from the next one of its name: inodes alone are given out again."""
    try:
        status = os.stat(folder)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _whole(folder: Path) -> Manifest:
    """The manifest of a folder that holds the files it names and no other."""
    known = manifest(folder)
    try:
        there, wanted = names(folder) - {MANIFEST}, known.files.keys()
    except OSError as error:
        raise DataError(f"Cannot read {shown(folder)}: {error.strerror}.") from None
    for name in sorted(wanted - there):
        raise DataError(f"{shown(folder)} lacks {name}. {AGAIN}")
    for name in sorted(there - wanted):
        raise DataError(f"{shown(folder)} holds {shown(name)}, which is no part of the bundle. Move it elsewhere.")
    return known


def _content(path: Path, record: FileRecord) -> bytes:
    _require_size(path, record)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"Cannot read {shown(path)}: {error.strerror}.") from None
    if digest(content) != record.sha256:
        raise DataError(f"{shown(path)} was altered: its checksum is not the one in {MANIFEST}. {AGAIN}")
    return content


def _require_size(path: Path, record: FileRecord) -> None:
    size = require_plain(path)
    if size != record.bytes:
        fault = "is cut short" if size < record.bytes else "was altered"
        raise DataError(f"{shown(path)} {fault}: it has {size} bytes, {MANIFEST} says {record.bytes}. {AGAIN}")


def _parameter(name: str, shape: Sequence[int], code: str) -> Parameter:
    return Parameter(name, tuple(shape), DTYPES.get(code, code))


def _write(part: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        with open(part / name, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    sync(part)


def _put(part: Path, final: Path) -> None:
    """Give a finished folder its name; the bundle that had it is removed only afterwards."""
    old = part.with_suffix(".old")
    try:
        if final.exists():
            os.replace(final, old)
        os.replace(part, final)
    except BaseException:
        with suppress(OSError):
            os.replace(old, final)
        raise
    sync(final.parent)
    for leftover in [*leftovers(final, "old"), *leftovers(final, "part")]:
        shutil.rmtree(leftover, ignore_errors=True)


def _require_replaceable(final: Path) -> None:
    """A DataError unless a bundle can take this name without anything else being lost."""
    if not final.exists() or (final.is_dir() and not any(final.iterdir())):
        return
    try:
        own = {MANIFEST, *manifest(final).files}
    except DataError as error:
        raise DataError(f"{shown(final)} is not replaced: {error} To save there, remove it first.") from None
    if strangers := names(final) - own:
        raise DataError(
            f"{shown(final)} is not replaced: {shown(min(strangers))} is no part of the bundle and would be lost. "
            "Move it, or name another folder."
        )
