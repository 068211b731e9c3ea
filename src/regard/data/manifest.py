"""What a prepared store says about itself."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, ValidationError, model_validator

from regard.config import Settings
from regard.errors import DataError
from regard.files import checksum, require_file, shown, write_atomically

FORMAT = 1
KIND = "regard prepared store"

MANIFEST = "manifest.json"
PIECES, OFFSETS, LENGTHS = "pieces.bin", "offsets.bin", "lengths.bin"
DATA_FILES = (PIECES, OFFSETS, LENGTHS)

# A manifest is a few kilobytes; a giant one is not ours and need not be parsed.
LARGEST = 4 * 2**20

Piece: TypeAlias = Literal["<u2", "<u4"]
Count = Annotated[int, Field(ge=0)]


class Unusable(DataError):
    """A store of ours that is damaged or outdated; preparing it again is safe."""


class FileRecord(Settings):
    """How a file was when the store was finished."""

    bytes: Count
    sha256: str


class Manifest(Settings):
    """The content of manifest.json."""

    kind: str = KIND
    format: int = FORMAT
    columns: tuple[str, ...] = Field(min_length=1)
    piece: Piece
    rows: Count
    examples: Count
    pieces: Count
    fingerprint: str
    counts: dict[str, Any]
    files: dict[str, FileRecord]

    @model_validator(mode="after")
    def _sizes_agree(self) -> Self:
        sizes = (self.pieces * int(self.piece[-1]), (self.examples + 1) * 8, self.examples * len(self.columns) * 4)
        if {name: record.bytes for name, record in self.files.items()} != dict(zip(DATA_FILES, sizes, strict=True)):
            raise ValueError("the sizes of the files do not agree with the counts")
        return self

    @property
    def checksum(self) -> str:
        """A SHA-256 of the examples, whatever they were made from."""
        return _digest({name: record.sha256 for name, record in self.files.items()})

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """The manifest of a store, or one sentence on why the folder is none."""
        values = _values(folder)
        number = values.get("format")
        if isinstance(number, int) and number > FORMAT:
            raise DataError(
                f"{shown(folder)} was prepared by a newer Regard (format {number}, this one reads {FORMAT}). "
                "Update Regard, or name another folder."
            )
        if number != FORMAT:
            raise Unusable(
                f"{shown(folder)} has format {number!r}, this Regard reads {FORMAT}. Prepare the data again."
            )
        if values.pop("checksum", None) != _digest(values):
            raise Unusable(f"{shown(folder / MANIFEST)} was altered. Prepare the data again.")
        try:
            return cls.model_validate(values)
        except ValidationError:
            raise Unusable(f"{shown(folder / MANIFEST)} does not describe a store. Prepare the data again.") from None

    def save(self, folder: Path) -> None:
        """Writes the manifest with a checksum of itself."""
        values = self.model_dump(mode="json")
        text = json.dumps({**values, "checksum": _digest(values)}, indent=1, ensure_ascii=False)
        with write_atomically(folder / MANIFEST) as file:
            file.write(f"{text}\n".encode("utf-8", "backslashreplace"))


def record(path: Path) -> FileRecord:
    """The size and checksum of a finished file."""
    return FileRecord(bytes=path.stat().st_size, sha256=checksum(path))


def _values(folder: Path) -> dict[str, Any]:
    """The plain values of a manifest that is ours by its kind; anything else is left alone."""
    require_store(folder)
    with suppress(OSError, ValueError, RecursionError), open(folder / MANIFEST, "rb") as file:
        values = json.loads(file.read(LARGEST))
        if isinstance(values, dict) and values.get("kind") == KIND:
            return values
    raise DataError(f"{shown(folder / MANIFEST)} is not that of a prepared store. Name another folder, or remove it.")


def require_store(folder: Path) -> None:
    """A DataError unless the folder is there and has a manifest."""
    if folder.is_dir() and not (folder / MANIFEST).exists():
        raise DataError(f"{shown(folder)} is not a prepared store (it has no {MANIFEST}). Name another folder.")
    require_file(folder / MANIFEST)


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
