"""The settings a request may bring along: how to search and how to tell, and nothing that costs without bound."""

from collections.abc import Mapping
from typing import Any

from regard.errors import RequestError
from regard.serve.settings import ServeSettings

# What belongs to the service: files, batches, and what makes a small request a large one.
OWN = {
    "predict.glossary": "names a file of the service",
    "predict.patterns": "is the service's to choose",
    "predict.rows": "is the service's to choose",
    "predict.tokens": "is the service's to choose",
    "predict.overlap": "is the service's to choose",
    "predict.context": "is the service's to choose",
    "search.margin": "is the service's to choose",
}
TABLES = ("search", "predict")
# Settings that cannot be more than the setting of the service on the right.
MOST = {
    "search.beams": "beams",
    "search.best": "beams",
    "search.groups": "beams",
    "search.longest_extra": "pieces",
    "predict.best": "beams",
    "predict.pieces": "pieces",
    "predict.longest": "characters",
    "predict.longest_answer": "pieces",
}
FACTOR = "search.longest_factor"
MOST_FACTOR = 10


def changes(settings: Mapping[str, Any], limits: ServeSettings | None = None) -> list[str]:
    """Settings of a request as `--set` has them, in the order of their names.

    >>> changes({"search.beams": 5, "search.method": "beam"})
    ['search.beams=5', 'search.method="beam"']
    """
    flat = dict(dotted(settings))
    for name, value in flat.items():
        _allow(name, value, limits or ServeSettings())
    return [f"{name}={written(name, flat[name])}" for name in sorted(flat)]


def dotted(values: Mapping[str, Any], prefix: str = "", depth: int = 0) -> list[tuple[str, Any]]:
    """Every setting by its dotted name: {"search": {"beams": 5}} says the same as {"search.beams": 5}."""
    if depth > 4:
        raise RequestError("The settings are nested too deep; give them as search.beams and the like.")
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        inside = isinstance(value, Mapping)
        found += dotted(value, f"{prefix}{name}.", depth + 1) if inside else [(f"{prefix}{name}", value)]
    return found


def _allow(name: str, value: Any, limits: ServeSettings) -> None:
    if name.partition(".")[0] not in TABLES or "." not in name or "=" in name:
        raise RequestError(f"{name[:80]!r} is no setting of a request; those of search and predict are.")
    if name in OWN:
        raise RequestError(f"{name} {OWN[name]}; leave it out.")
    most = getattr(limits, MOST[name]) if name in MOST else MOST_FACTOR if name == FACTOR else None
    if most is not None and isinstance(value, int | float) and not value <= most:
        raise RequestError(f"{name} = {value} is more than this service allows, which is {most}.")


def written(name: str, value: Any) -> str:
    """A value as TOML writes it; what is null is `false`, as in a recipe."""
    if value is None or isinstance(value, bool):
        return "true" if value is True else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return quoted(value)
    raise RequestError(f"{name} has a value that is no text, number, true or false.")


def quoted(text: str) -> str:
    r"""A text between quotes, as TOML reads it back.

    >>> quoted('a"b\n')
    '"a\\"b\\n"'
    """
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise RequestError("A setting has half a character in it.")
    inside = (escapes.get(letter) or (letter if letter.isprintable() else f"\\U{ord(letter):08x}") for letter in text)
    return f'"{"".join(inside)}"'
