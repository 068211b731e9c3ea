"""Checkpoints: all that a run must know to go on, written so that a kill at any instant loses nothing.

A checkpoint is a folder `update-00001500` of safetensors files and a `state.json` with their sizes and checksums, and
one of itself. It is written under another name, brought to disk, and renamed: a folder with the final name is whole.
Reading believes nothing before its size and checksum are right.

A model in parts is saved in parts (`shards`, `distributed_checkpoints`): each group of tensors then lies in a file for
each process, and the state has an index of the whole tensors' shapes. It is read like any other.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, NonNegativeInt, model_validator
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.config import Settings
from regard.errors import ConfigError, DataError
from regard.files import checksum, require_file, shown, sync
from regard.train.shards import Shards, files

FORMAT = 2
# Every group in several files, with an index.
SHARDED = 3
# Without sizes and without a checksum of the state itself.
EARLIER = 1
STATE = "state.json"
NAME = re.compile(r"update-(\d{8,})")
# A state is a few kilobytes; a giant one is not ours and need not be parsed.
LARGEST = 16 * 2**20

# No separator: a name cannot leave the folder.
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}\.safetensors$")]


class State(Settings):
    """The content of state.json."""

    format: int = FORMAT
    update: NonNegativeInt
    facts: dict[str, Any]
    checksums: dict[FileName, str]
    sizes: dict[FileName, NonNegativeInt] = Field(default_factory=dict)
    # The shapes of the whole tensors, by group and name, where they lie in parts.
    index: dict[str, dict[str, list[NonNegativeInt]]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _each_has_a_size(self) -> Self:
        if self.sizes.keys() != self.checksums.keys() and (self.sizes or self.format != EARLIER):
            raise ValueError("its sizes and checksums are not of the same files")
        if bool(self.index) != (self.format == SHARDED):
            raise ValueError("an index goes with tensors in parts, and with no others")
        return self

    def rendered(self) -> bytes:
        """The one way to write it, with a checksum of itself: any other bytes are an altered state."""
        values = self.model_dump(exclude=None if self.index else {"index"})
        signed = {**values, "checksum": hashlib.sha256(json.dumps(values).encode()).hexdigest()}
        return json.dumps(signed, indent=1).encode()


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
        put(part, final, keep)
    except OSError as error:
        raise DataError(
            f"Cannot save a checkpoint in {shown(folder)}: {error.strerror}; the one before is untouched."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return final


def put(part: Path, final: Path, keep: int | None = 2) -> None:
    """Give a checkpoint that is wholly written its name, then drop all but the newest `keep` (None: drop none)."""
    if not _same(part, final):
        shutil.rmtree(final, ignore_errors=True)
        os.replace(part, final)
        sync(final.parent)
    _prune(final.parent, keep)


def load(path: Path) -> Checkpoint:
    """A checkpoint whose every file is what it was when it was written, or a DataError."""
    state = _state(path)
    for name, wanted in state.checksums.items():
        _require_size(path / name, state.sizes.get(name))
        if checksum(path / name) != wanted:
            raise DataError(f"{shown(path / name)} is damaged: its checksum is not the one in {STATE}.")
    return Checkpoint(state.update, _groups(path, state), state.facts)


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
    return state.update, state.facts


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


def store(tensors: Mapping[str, Tensor], file: Path, notes: Mapping[str, str] | None = None) -> tuple[str, int]:
    """Write tensors to a file with notes in its head, all the way to disk; its checksum and its size."""
    try:
        own = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
        save_file(own, file, None if notes is None else dict(notes))
    except SafetensorError as error:
        # What the system said, "No space left on device (os error 28)" for one, stands inside.
        raise OSError(None, str(error).rpartition(": ")[2]) from None
    sync(file)
    return checksum(file), file.stat().st_size


def write_state(part: Path, state: State) -> None:
    """Write what a checkpoint says about itself, the last of its files."""
    with open(part / STATE, "xb") as written:
        written.write(state.rendered())
        written.flush()
        os.fsync(written.fileno())
    sync(part)


def _write(part: Path, checkpoint: Checkpoint) -> None:
    checksums, sizes = {}, {}
    for group, tensors in checkpoint.tensors.items():
        name = f"{group}.safetensors"
        checksums[name], sizes[name] = store(tensors, part / name)
    write_state(part, State(update=checkpoint.update, facts=dict(checkpoint.facts), checksums=checksums, sizes=sizes))


def _same(part: Path, final: Path) -> bool:
    """Whether the final one is intact and holds the same: while it is replaced there would be none for an instant."""
    try:
        return _state(part).rendered() == _state(final).rendered() and load(final) is not None
    except DataError:
        return False


def _state(path: Path) -> State:
    place = shown(path / STATE)
    content = _content(path / STATE)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} cannot be read: {error}.") from None
    if not isinstance(values, dict) or not {"format", "update", "facts", "checksums"} <= values.keys():
        raise DataError(f"{place} is not the state of a checkpoint.")
    if values["format"] not in (EARLIER, FORMAT, SHARDED):
        raise DataError(f"{shown(path)} has format {values['format']!r}; this version of Regard reads {FORMAT}.")
    values.pop("checksum", None)
    try:
        state = State.read(values)
    except ConfigError as error:
        raise DataError(f"{place} is damaged: {str(error).splitlines()[0]}") from None
    if state.rendered() != content and state.format != EARLIER:
        raise DataError(f"{place} is damaged: its checksum is not its own.")
    return state


def _content(path: Path) -> bytes:
    require_file(path)
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise DataError(f"{shown(path)} cannot be read: {error.strerror}.") from None
    if len(content) > LARGEST:
        raise DataError(f"{shown(path)} is larger than the state of any checkpoint.")
    return content


def _require_size(path: Path, expected: int | None) -> None:
    """A file of another size is not read at all; it may be larger than the machine."""
    require_file(path)
    size = path.stat().st_size
    if expected is not None and size != expected:
        raise DataError(f"{shown(path)} is damaged: it has {size:,} bytes, {STATE} says {expected:,}.")


def _groups(path: Path, state: State) -> dict[str, Mapping[str, Tensor]]:
    if not state.index:
        return {Path(name).stem: _tensors(path / name) for name in state.checksums}
    names = list(state.checksums)
    return {group: Shards(files(path, group, names), shapes) for group, shapes in state.index.items()}


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
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
