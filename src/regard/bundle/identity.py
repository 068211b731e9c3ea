"""The manifest: what a bundle says about itself."""

import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, NonNegativeInt

from regard.bundle.foreign import MANIFEST, PARAMETERS, RECIPE, described, names, require_folder
from regard.config import Settings
from regard.errors import ConfigError, DataError
from regard.files import shown

FORMAT = 1
KIND = "regard bundle"
SCORES, GOLDEN = "scores.json", "golden.json"
OWN = (PARAMETERS, RECIPE, SCORES, GOLDEN)

# No separator and no leading point: a name can neither leave the folder nor hide in it.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
# A manifest is a few kilobytes; a giant one is not ours and need not be parsed.
LARGEST = 16 * 2**20
AGAIN = "Copy the bundle again, or save it again."


class FileRecord(Settings):
    """How a file was when the bundle was saved."""

    bytes: NonNegativeInt
    sha256: str


def _plain(name: str) -> str:
    if not NAME.fullmatch(name) or name == MANIFEST:
        raise ValueError(f"a bundle has no file of the name {name!r}, and this one may be meant to harm")
    return name


def _complete(files: dict[str, FileRecord]) -> dict[str, FileRecord]:
    if missing := [name for name in OWN if name not in files]:
        raise ValueError(f"{missing[0]} is not among them")
    return files


class Manifest(Settings):
    """The content of manifest.json; `facts` are about the data: its fingerprint, counts."""

    kind: str = KIND
    format: int = FORMAT
    task: str
    made: str
    versions: dict[str, str]
    facts: dict[str, Any]
    files: Annotated[dict[Annotated[str, AfterValidator(_plain)], FileRecord], AfterValidator(_complete)]

    def rendered(self) -> bytes:
        """The one way to write it, with a checksum of itself: any other bytes are an altered manifest."""
        values = self.model_dump(mode="json")
        signed = {**values, "checksum": digest(json.dumps(values).encode())}
        return (json.dumps(signed, indent=1) + "\n").encode()


def manifest(folder: Path) -> Manifest:
    """What the bundle in a folder says about itself; its other files are not read."""
    require_folder(folder)
    path = folder / MANIFEST
    content = _read(path)
    values = _values(folder, content)
    _require_format(folder, values.get("format"))
    values.pop("checksum", None)
    try:
        known = Manifest.read(values)
    except ConfigError as error:
        raise DataError(f"{shown(path)} is not sound: {str(error).splitlines()[0]} {AGAIN}") from None
    if known.rendered() != content:
        raise DataError(f"{shown(path)} was altered: its checksum is not its own. {AGAIN}")
    return known


def digest(content: bytes) -> str:
    """The SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def require_plain(path: Path) -> int:
    """The size of a file; a link, a folder or a device in its place is refused."""
    try:
        status = os.lstat(path)
    except OSError as error:
        raise DataError(f"Cannot read {shown(path)}: {error.strerror}.") from None
    if not stat.S_ISREG(status.st_mode):
        sort = "a link" if stat.S_ISLNK(status.st_mode) else "not a file"
        raise DataError(f"{shown(path)} is {sort}; a bundle holds plain files only. {AGAIN}")
    return status.st_size


def _read(path: Path) -> bytes:
    if require_plain(path) > LARGEST:
        raise DataError(f"{shown(path)} is larger than any manifest of a bundle. Name the folder of a bundle.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"Cannot read {shown(path)}: {error.strerror}.") from None


def _values(folder: Path, content: bytes) -> dict[str, Any]:
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        raise DataError(f"{shown(folder / MANIFEST)} is no JSON: it was cut short or altered. {AGAIN}") from None
    if isinstance(values, dict) and values.get("kind") == KIND:
        return values
    inside = names(folder) - {MANIFEST}
    if inside and PARAMETERS not in inside:
        raise DataError(described(folder, inside))
    raise DataError(f"{shown(folder / MANIFEST)} is not that of a bundle: it was altered, or is another file. {AGAIN}")


def _require_format(folder: Path, number: object) -> None:
    if isinstance(number, int) and number > FORMAT:
        raise DataError(
            f"{shown(folder)} was made by a newer Regard (format {number}, this one reads {FORMAT}): update regard."
        )
    if number != FORMAT or isinstance(number, bool):
        raise DataError(f"{shown(folder)} has format {number!r}, this Regard reads {FORMAT}. {AGAIN}")
