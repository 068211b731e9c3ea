"""Parts of one's own, from a Python file that the user names (`--extend my_parts.py`), never from a bundle.

The file defines dicts of the names the packages use, and their entries join those:

    class Halved(Product):
        "q . k / 2."
        scale = 0.5

        def __init__(self, sizes: Sizes) -> None:
            super().__init__()

    SCORES = {"halved": Halved}
"""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from regard.api.kinds import KINDS, Kind
from regard.errors import ConfigError, nearest
from regard.files import shown


class Own(NamedTuple):
    """A part that a user added."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Loaded(NamedTuple):
    """A file as it was when its parts were added."""

    digest: str
    parts: tuple[Own, ...]


# What has been added to the packages' dicts, which outlive every call, has to be remembered as long as they do.
_LOADED: dict[Path, Loaded] = {}


def extend(path: Path) -> list[str]:
    """Add the parts a file defines, all of them or none, and say which: `["score halved"]`."""
    path = Path(path).absolute()
    source = _source(path)
    digest = hashlib.sha256(source).hexdigest()
    before = _LOADED.get(path)
    if before is None:
        _LOADED[path] = Loaded(digest, _added(path, _module(path, digest)))
    elif before.digest != digest:
        raise ConfigError(f"{shown(path)} has changed since its parts were added; start Python anew to use the change.")
    return [str(part) for part in _LOADED[path].parts]


def own_parts() -> list[Own]:
    """Every part that was added, in the order it came."""
    return [part for loaded in _LOADED.values() for part in loaded.parts]


def hint(message: str) -> str:
    """The message, and where it is about an unknown name of a kind that can be added, how to add it."""
    if not any(message.startswith(f"Unknown {kind.word} ") for kind in KINDS.values()):
        return message
    return f"{message} If it is a part of your own, name its file with --extend."


def _source(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        beside = [entry.name for entry in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise ConfigError(f"--extend {shown(path)}: {error.strerror}.{nearest(path.name, beside)}") from None


def _module(path: Path, digest: str) -> ModuleType:
    """The file, run once."""
    name = f"regard_own_{path.stem}_{digest[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"--extend {shown(path)}: this is no Python file; its name has to end in .py.")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and other processes look a class up in its module.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ConfigError(_failure(path, error)) from None
    return module


def _failure(path: Path, error: BaseException) -> str:
    """Where in the file it went wrong, and how."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) and not lines else (lines or [None])[-1]
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    told = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return f"{shown(path)}{f' line {line}' if line else ''}: {told}. Nothing was added."


def _added(path: Path, module: ModuleType) -> tuple[Own, ...]:
    found = {name: getattr(module, name) for name in KINDS if _is_own(module, name)}
    if not any(found.values()):
        raise ConfigError(f"{shown(path)} defines no part.{_meant(module)} Parts stand in dicts: {', '.join(KINDS)}.")
    for name, entries in found.items():
        _check(path, name, entries, KINDS[name])
    for name, entries in found.items():
        KINDS[name].known.update(entries)
    return tuple(Own(KINDS[name].word, entry) for name, entries in found.items() for entry in entries)


def _is_own(module: ModuleType, name: str) -> bool:
    """Whether the file has a dict of that name which is not ours, imported to be looked at."""
    return getattr(module, name, KINDS[name].known) is not KINDS[name].known


def _meant(module: ModuleType) -> str:
    written = [name for name, value in vars(module).items() if isinstance(value, Mapping) and name.isupper()]
    return next((told for told in (nearest(name, KINDS) for name in written) if told), "")


def _check(path: Path, name: str, entries: object, kind: Kind) -> None:
    if not isinstance(entries, Mapping):
        raise ConfigError(f"{shown(path)}: {name} is {entries!r}; it has to be a dict of names and classes.")
    for entry, part in entries.items():
        place = f"{shown(path)}: {name}[{entry!r}]"
        if not isinstance(entry, str) or not entry.isidentifier():
            raise ConfigError(f"{place}: a part's name is letters, digits and underscores, to be typed in a recipe.")
        if entry in kind.known:
            other = getattr(kind.known[entry], "__module__", "")
            raise ConfigError(f"{place}: there already is a {kind.word} {entry!r} (in {other}); choose another name.")
        if reason := kind.unfit(part):
            raise ConfigError(f"{place} is no {kind.word}: {reason}.")
