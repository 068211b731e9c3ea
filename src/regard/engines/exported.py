"""Exports that an engine runs instead of what it would make: only if they are what they were."""

import json
from pathlib import Path

from regard.errors import DataError
from regard.files import checksum, shown

RECORD = "export.json"


def exported(folder: Path, engine: str) -> Path | None:
    """The folder, if it is an export for this engine, every file of it as it was written; None if it is none."""
    target, files = _told(folder)
    if target != engine:
        return None
    for name, known in files.items():
        if not (folder / name).is_file() or checksum(folder / name) != known:
            raise DataError(f"{shown(folder / name)} is not what was exported; export the bundle again.")
    return folder


def made_for(folder: Path) -> str | None:
    """The engine that a folder was exported for; None if it is no export."""
    return _told(folder)[0]


def _told(folder: Path) -> tuple[str | None, dict[str, str]]:
    """What an export was made for, and the checksum of each of its files."""
    path = folder / RECORD
    if not path.is_file():
        return None, {}
    try:
        told = json.loads(path.read_text("utf-8"))
        return str(told["target"]), {str(name): str(known) for name, known in told["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{shown(path)} is damaged; export the bundle again.") from None
