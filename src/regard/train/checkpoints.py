"""Checkpoints: all that a run must know to go on, written so that a kill at any instant loses nothing.

A checkpoint is a folder `update-00001500` of safetensors files and a `state.json` with their checksums. It is written
under another name, brought to disk, and renamed: a folder with the final name is whole.
"""

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.errors import DataError
from regard.files import checksum, shown, sync, write_atomically

FORMAT = 1
STATE = "state.json"
NAME = re.compile(r"update-(\d{8,})")


@dataclass(frozen=True)
class Checkpoint:
    """Named groups of tensors (parameters, optimizer, random) and plain facts (progress and settings)."""

    update: int
    tensors: Mapping[str, Mapping[str, Tensor]]
    facts: Mapping[str, Any]


def save(folder: Path, checkpoint: Checkpoint, keep: int | None = 2) -> Path:
    """Write a checkpoint beside the earlier ones, then drop all but the newest `keep` (None: drop none)."""
    final = place(folder, checkpoint.update)
    part = folder / f".{final.name}.{secrets.token_hex(4)}.part"
    try:
        part.mkdir(parents=True)
        _write(part, checkpoint)
        if not _same(part, final):
            shutil.rmtree(final, ignore_errors=True)
            os.replace(part, final)
            sync(folder)
    except OSError as error:
        raise DataError(
            f"Cannot save a checkpoint in {shown(folder)}: {error.strerror}; the one before is untouched."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    _prune(folder, keep)
    return final


def load(path: Path) -> Checkpoint:
    """A checkpoint whose every file is what it was when it was written, or a DataError."""
    state = _state(path)
    for name, wanted in state["checksums"].items():
        if checksum(path / name) != wanted:
            raise DataError(f"{shown(path / name)} is damaged: its checksum is not the one in {STATE}.")
    tensors = {Path(name).stem: _tensors(path / name) for name in state["checksums"]}
    return Checkpoint(state["update"], tensors, state["facts"])


def newest(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest intact checkpoint, and a sentence for each damaged one that was passed over."""
    troubles: list[str] = []
    for path in found(folder):
        try:
            return load(path), troubles
        except DataError as error:
            troubles.append(str(error))
    return None, troubles


def facts(path: Path) -> tuple[int, Mapping[str, Any]]:
    """The update and the plain facts of a checkpoint, without its tensors."""
    state = _state(path)
    return state["update"], state["facts"]


def found(folder: Path) -> list[Path]:
    """The folders that claim to be checkpoints, the newest first."""
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if NAME.fullmatch(path.name)), key=number, reverse=True)


def place(folder: Path, update: int) -> Path:
    """Where the checkpoint of an update lies."""
    return folder / f"update-{update:08d}"


def number(path: Path) -> int:
    """The update whose checkpoint lies here."""
    return int(path.name.removeprefix("update-"))


def _write(part: Path, checkpoint: Checkpoint) -> None:
    checksums = {}
    for group, tensors in checkpoint.tensors.items():
        file = part / f"{group}.safetensors"
        save_file({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}, file)
        sync(file)
        checksums[file.name] = checksum(file)
    state = {"format": FORMAT, "update": checkpoint.update, "facts": dict(checkpoint.facts), "checksums": checksums}
    with write_atomically(part / STATE) as file_:
        file_.write(json.dumps(state, indent=1).encode())


def _same(part: Path, final: Path) -> bool:
    """Whether the final one is intact and holds the same: while it is replaced there would be none for an instant."""
    try:
        return _state(part) == _state(final) and load(final) is not None
    except DataError:
        return False


def _state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads((path / STATE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{shown(path / STATE)} cannot be read: {error}.") from None
    if not isinstance(state, dict) or not {"format", "update", "facts", "checksums"} <= state.keys():
        raise DataError(f"{shown(path / STATE)} is not the state of a checkpoint.")
    if state["format"] != FORMAT:
        raise DataError(f"{shown(path)} has format {state['format']}; this version of Regard reads {FORMAT}.")
    return state


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{shown(path)} is damaged or no safetensors file ({error}).") from None


def _prune(folder: Path, keep: int | None) -> None:
    old = [] if keep is None else found(folder)[keep:]
    for path in [*old, *_leftovers(folder)]:
        # A checkpoint that cannot be removed takes room, which is no reason to end a run.
        with suppress(OSError):
            shutil.rmtree(path)


def _leftovers(folder: Path) -> Iterator[Path]:
    """What killed runs left half-written."""
    yield from folder.glob(".update-*.part")
