"""Everything Regard raises on purpose, as one tree.

    RegardError
    ├── ConfigError     a setting or recipe that cannot be: unknown name, wrong value, parts that do not fit
    ├── DataError       text, files or stored data that are not what they should be
    ├── ModelError      tensors, masks or parameters a model cannot work with
    └── RequestError    something asked of a loaded model that it cannot answer

A message says where and what, why it cannot be, and what to do, in the names the user typed.
"""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "ConfigError",
    "DataError",
    "ModelError",
    "RegardError",
    "RequestError",
    "nearest",
    "unknown",
]


class RegardError(Exception):
    """The root: catch this to catch every mistake Regard can explain."""


class ConfigError(RegardError):
    """A setting or recipe that cannot be."""


class DataError(RegardError):
    """Text, files or stored data that are not what they should be."""


class ModelError(RegardError):
    """Tensors, masks or parameters a model cannot work with."""


class RequestError(RegardError):
    """Something asked of a loaded model that it cannot answer."""


def nearest(name: object, known: Iterable[str]) -> str:
    """The suffix " Did you mean 'x'?" for the known name closest to this one, or nothing if none is close.

    >>> nearest("aditive", ["additive", "dot"])
    " Did you mean 'additive'?"
    >>> nearest("zzz", ["additive", "dot"])
    ''
    """
    # Two known names may differ only in case; the first one wins.
    spelled = {option.lower(): option for option in reversed(list(known))}
    matches = get_close_matches(str(name).lower(), spelled, n=1)
    return f" Did you mean {spelled[matches[0]]!r}?" if matches else ""


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The sentence for a name that is in no list of ours.

    >>> unknown("score", "aditive", ["dot", "additive"])
    "Unknown score 'aditive'. Did you mean 'additive'? Known: additive, dot."
    """
    options = sorted(known)
    listing = f" Known: {', '.join(options)}." if options else f" No {kind} is known."
    return f"Unknown {kind} {name!r}.{nearest(name, options)}{listing}"
