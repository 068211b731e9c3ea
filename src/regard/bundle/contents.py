"""A bundle as values, and its files as bytes."""

import json
import math
import platform
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import safetensors
import safetensors.torch
import tomli_w
import torch
from torch import Tensor

import regard
from regard.bundle.foreign import MANIFEST, PARAMETERS, RECIPE
from regard.bundle.identity import AGAIN, GOLDEN, NAME, OWN, SCORES, FileRecord, Manifest, digest
from regard.errors import DataError
from regard.files import shown

T = TypeVar("T")


@dataclass(frozen=True)
class Bundle:
    """A model as plain values: the whole recipe, tensors and texts by name, scores, examples, facts about the data."""

    recipe: Mapping[str, Any]
    parameters: Mapping[str, Tensor]
    files: Mapping[str, str]
    scores: Mapping[str, Any]
    golden: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Any]


def rendered(bundle: Bundle) -> dict[str, bytes]:
    """Every file of a bundle by name, the manifest last."""
    files = {
        PARAMETERS: _stored(bundle.parameters),
        RECIPE: _toml(bundle.recipe),
        SCORES: _json(bundle.scores, SCORES),
        GOLDEN: _json(bundle.golden, GOLDEN),
    }
    for name, text in bundle.files.items():
        if name in OWN or name == MANIFEST or not NAME.fullmatch(name):
            raise DataError(f"{name!r} cannot be the name of a text in a bundle. Give it a plain name of its own.")
        files[name] = _encoded(text, name)
    return {**files, MANIFEST: _described(bundle, files).rendered()}


def parsed(files: Mapping[str, bytes], known: Manifest, folder: Path, device: str | torch.device) -> Bundle:
    """The bundle these files of a folder make."""
    return Bundle(
        recipe=_table(files[RECIPE], folder / RECIPE),
        parameters={name: tensor.to(device) for name, tensor in _tensors(files[PARAMETERS], folder).items()},
        files={name: _text(content, folder / name) for name, content in files.items() if name not in OWN},
        scores=_values(files[SCORES], folder / SCORES, dict),
        golden=_values(files[GOLDEN], folder / GOLDEN, list),
        facts=known.facts,
    )


def _described(bundle: Bundle, files: Mapping[str, bytes]) -> Manifest:
    task = bundle.recipe.get("task", "")
    return Manifest(
        task=str(task.get("name", "") if isinstance(task, Mapping) else task),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={
            "regard": regard.__version__,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
        # As JSON will give them back.
        facts=json.loads(_json(bundle.facts, MANIFEST)),
        files={name: FileRecord(bytes=len(content), sha256=digest(content)) for name, content in files.items()},
    )


def _stored(parameters: Mapping[str, Tensor]) -> bytes:
    try:
        # Cloned: safetensors refuses views and tensors that share memory.
        tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in parameters.items()}
        return safetensors.torch.save(tensors)
    except (ValueError, RuntimeError, KeyError, safetensors.SafetensorError) as error:
        raise DataError(f"The parameters cannot be stored: {error}.") from None


def _tensors(content: bytes, folder: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(content)
    except (ValueError, RuntimeError, KeyError, AssertionError, safetensors.SafetensorError) as error:
        raise DataError(f"{shown(folder / PARAMETERS)} is no safetensors file ({error}). {AGAIN}") from None


def _toml(recipe: Mapping[str, Any]) -> bytes:
    try:
        return _encoded(tomli_w.dumps(_without_none(recipe)), RECIPE)
    except (TypeError, ValueError) as error:
        raise DataError(f"The recipe cannot be written as TOML: {error}.") from None


def _without_none(value: Any) -> Any:
    """Plain tables and lists; a None in a table is left out, in a list it would move the others and is refused."""
    if isinstance(value, Mapping):
        return {_key(key): _without_none(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        if any(inner is None for inner in value):
            raise ValueError(f"{value!r} holds None, and TOML has no such value")
        return [_without_none(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is no text")
    return key


def _table(content: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(content, path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{shown(path)} is no TOML ({error}). {AGAIN}") from None


def _json(value: Any, name: str) -> bytes:
    try:
        return _encoded(json.dumps(_finite(value), indent=1, ensure_ascii=False) + "\n", name)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{name} cannot be written as JSON: {error}.") from None


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _values(content: bytes, path: Path, kind: type[T]) -> T:
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{shown(path)} is no JSON ({error}). {AGAIN}") from None
    inside = values if isinstance(values, list) else []
    if not isinstance(values, kind) or not all(isinstance(value, dict) for value in inside):
        raise DataError(f"{shown(path)} does not hold what a bundle keeps there. {AGAIN}")
    return values


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{name}: {text[error.start]!r} is half a character, which UTF-8 cannot hold.") from None


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise DataError(f"{shown(path)} is not UTF-8. {AGAIN}") from None
