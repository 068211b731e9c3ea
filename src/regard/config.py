"""Settings that refuse what they do not know, and parts chosen by name.

A recipe names a part either by its name alone (`score = "additive"`) or with settings
(`score = { name = "additive", hidden = 64 }`). The settings of a part are the keyword-only parameters of its
constructor: the defaults stand there and nowhere else.
"""

import inspect
import stat
import tomllib
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator, model_validator

from regard.errors import ConfigError, nearest, unknown

T = TypeVar("T")

# A recipe is a page or two of text; a giant file is none.
LARGEST = 4 * 2**20

# How often dropout drops.
Rate = Annotated[float, Field(ge=0, lt=1)]
# The most bits of a whole number, as in TOML: no tensor has a size beyond it.
BITS = 63
# How many layers stand on each other: more than anyone has trained would be built until memory ends.
Layers = Annotated[int, Field(ge=1, le=10_000)]


class Settings(BaseModel):
    """A frozen group of settings; an unknown key is an error that offers the nearest known one."""

    # No setting means anything as NaN or infinity, and TOML has words for both.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _false_is_none(cls, values: Any) -> Any:
        """TOML has no word for nothing: `false` says it, where a setting may be None and is no switch."""
        if not isinstance(values, Mapping):
            return values
        return {name: None if value is False and _may_be_none(cls, name) else value for name, value in values.items()}

    @field_validator("*", mode="before")
    @classmethod
    def _has_a_size(cls, value: Any) -> Any:
        if isinstance(value, int) and value.bit_length() > BITS:
            raise ValueError(f"Input should be a whole number of at most {BITS} bits")
        return value

    def plain(self) -> dict[str, Any]:
        """The settings as TOML holds them: what is None is `false`, or left out where it is None anyway."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        kept = {name: value for name, value in values.items() if value is not None or not _none_anyway(self, name)}
        return {name: False if value is None else _plain(value) for name, value in kept.items()}

    @classmethod
    def read(cls, values: Mapping[str, Any], place: str = "") -> Self:
        """These settings from plain values; every mistake becomes one line of a ConfigError."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise ConfigError("\n".join(_sentences(error, cls, place))) from None


class Part(BaseModel):
    """A part by name, with the settings it was given."""

    model_config = ConfigDict(frozen=True, extra="allow")
    name: str

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def of(cls, choice: "str | Mapping[str, Any] | Part") -> "Part":
        """The part a name, a table or a part stands for."""
        try:
            return choice if isinstance(choice, Part) else cls.model_validate(choice)
        except ValidationError:
            raise ConfigError(f"{choice!r} names no part; give a name, or a table of a name and settings.") from None

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.name}({inside})" if inside else self.name


def load(path: Path) -> dict[str, Any]:
    """The plain values of a TOML file."""
    try:
        _require_recipe(path)
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        siblings = [entry.name for entry in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise ConfigError(f"{path}: {error.strerror}.{nearest(path.name, siblings)}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text; a recipe is a TOML file.") from None
    # ValueError: also a number of more digits than Python reads, or a NUL in the path.
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}; a recipe is a TOML file.") from None


def _require_recipe(path: Path) -> None:
    """A ConfigError for what is no file, or none that someone wrote: reading it might never end."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise ConfigError(f"{path} is a pipe or device, not a file; a recipe is a TOML file.")
    if status.st_size > LARGEST:
        raise ConfigError(f"{path} has {status.st_size:,} bytes, more than any recipe; a recipe is a TOML file.")


def override(values: Mapping[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """The values with each `a.b=c` put in; c is read as TOML where it is that, otherwise as text.

    >>> override({"search": {"beams": 5}}, ["search.beams=1", "device=cpu"])
    {'search': {'beams': 1}, 'device': 'cpu'}
    """
    changed = deepcopy(dict(values))
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals or not path.strip():
            raise ConfigError(f"--set {change}: expected a setting and its value, such as search.beams=5.")
        _put(changed, path.strip().split("."), _value(text.strip()), change)
    return changed


def _put(values: dict[str, Any], path: list[str], value: object, change: str) -> None:
    inside: Any = values
    for step in path[:-1]:
        inside = _entry(inside, step, change)
    if isinstance(inside, list):
        _entry(inside, path[-1], change)
        inside[int(path[-1])] = value
    else:
        inside[path[-1]] = value


def _entry(inside: Any, step: str, change: str) -> Any:
    """The table or list under one step of a path; a table that is not there yet is begun."""
    if isinstance(inside, list):
        if not step.isdecimal() or int(step) >= len(inside):
            raise ConfigError(f"--set {change}: {step!r} is no place in a list of {len(inside)}; they count from 0.")
        return inside[int(step)]
    found = inside.setdefault(step, {})
    if isinstance(found, str):
        # A part given by its name alone gets settings.
        found = inside[step] = {"name": found}
    if not isinstance(found, dict | list):
        raise ConfigError(f"--set {change}: {step} is {found!r}, which has no settings inside.")
    return found


def _value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def make(kind: str, known: Mapping[str, type[T]], choice: str | Mapping[str, Any] | Part, *given: object) -> T:
    """The part of `known` that `choice` names, built from what is `given` and from its own settings."""
    part = Part.of(choice)
    if part.name not in known:
        raise ConfigError(unknown(kind, part.name, known))
    maker: Callable[..., T] = known[part.name]
    options = _options(maker).read(part.options, f"{kind} {part.name}")
    return maker(*given, **{name: getattr(options, name) for name in part.options})


def _may_be_none(settings: type[BaseModel], name: str) -> bool:
    field = settings.model_fields.get(name)
    kinds = get_args(field.annotation) if field else ()
    return type(None) in kinds and bool not in kinds


def _none_anyway(settings: BaseModel, name: str) -> bool:
    return type(settings).model_fields[name].default is None


def _plain(value: Any) -> Any:
    if isinstance(value, Settings):
        return value.plain()
    if isinstance(value, Part):
        declared = {name: getattr(value, name) for name in type(value).model_fields}
        return {name: inner for name, inner in declared.items() if inner} | _plain(value.options)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items() if inner is not None}
    return [_plain(inner) for inner in value if inner is not None] if isinstance(value, list | tuple) else value


@cache
def _options(maker: Callable[..., Any]) -> type[Settings]:
    """The settings class made from the keyword-only parameters of a constructor."""
    parameters = inspect.signature(maker).parameters.values()
    fields: dict[str, Any] = {p.name: (p.annotation, p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}
    return create_model("Options", __base__=Settings, **fields)


def _sentences(error: ValidationError, settings: type[BaseModel], place: str) -> list[str]:
    prefix = f"{place}: " if place else ""
    return [prefix + _sentence(dict(entry), settings) for entry in error.errors()]


def _sentence(entry: dict[str, Any], settings: type[BaseModel]) -> str:
    path = ".".join(str(step) for step in entry["loc"])
    if entry["type"] == "extra_forbidden":
        return unknown("setting", path, _fields(settings, entry["loc"]))
    if entry["type"] == "missing":
        # A whole recipe would be too much to show.
        within = f" in {entry['input']!r}" if len(entry["loc"]) > 1 else ""
        return f"{path} is missing{within}."
    reason = str(entry["msg"]).removeprefix("Value error, ")
    return f"{path} = {entry['input']!r}: {reason}." if path else f"{reason}."


def _fields(settings: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """The dotted names known beside the last step of `path`."""
    for step in path[:-1]:
        inner = settings.model_fields[str(step)].annotation if str(step) in settings.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        settings = inner
    prefix = "".join(f"{step}." for step in path[:-1])
    return [prefix + name for name in settings.model_fields]
