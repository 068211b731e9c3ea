"""Recipes: a TOML file and changes to it become one frozen run, every mistake told before anything starts."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from regard.config import load, override
from regard.errors import ConfigError, nearest, unknown
from regard.files import comment
from regard.tasks import TASKS, Recipe

Given = str | Path | Mapping[str, Any] | Recipe


def read(given: Given, changes: Iterable[str] = ()) -> Recipe:
    """The recipe of a file, of plain values, or as it is, with each `a.b=c` put in."""
    if isinstance(given, Recipe):
        given = given.plain()
    place = "" if isinstance(given, Mapping) else str(given)
    values = override(given if isinstance(given, Mapping) else based(found(Path(given))), changes)
    if "task" not in values:
        raise ConfigError(f'{place + ": " if place else ""}no task is named; begin with task = "translation".')
    if not isinstance(values["task"], str) or values["task"] not in TASKS:
        raise ConfigError(unknown("task", values["task"], TASKS))
    recipe: Recipe = TASKS[values["task"]].Recipe.read(values, place)
    return recipe


def based(path: Path, above: tuple[str, ...] = ()) -> dict[str, Any]:
    """The values of a recipe on top of those of the recipe it names as its `base`, relative to its own folder."""
    values = load(path)
    if "base" not in values:
        return values
    # One file may be named in many ways.
    place = os.path.realpath(path)
    if place in above:
        raise ConfigError(f"{path}: base = {values['base']!r} goes round in a circle. Leave one of the bases out.")
    base = path.parent / str(values.pop("base"))
    return merged(based(base, (*above, place)), values)


# What says where a corpus stands.
PLACES = {"files", "path", "dataset"}


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Tables merged key by key; a part of another name, a corpus in another place, and anything that is no table, is
    replaced whole.

    >>> merged({"model": {"name": "a", "width": 8}, "seed": 1}, {"model": {"width": 16}})
    {'model': {'name': 'a', 'width': 16}, 'seed': 1}
    >>> merged({"optimizer": {"rate": 3e-3}}, {"optimizer": {"name": "muon"}})
    {'optimizer': {'rate': 0.003, 'name': 'muon'}}
    """
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        alike = (
            isinstance(old, Mapping)
            and isinstance(value, Mapping)
            and ("name" not in old or value.get("name", old["name"]) == old["name"])
            and not PLACES & value.keys()
        )
        result[key] = merged(old, value) if alike and isinstance(old, Mapping) else value
    return result


def found(path: Path) -> Path:
    """The recipe's file: the one named, one of that name among the recipes at hand, or the one a run was made by."""
    if (path / "recipe.toml").is_file():
        return path / "recipe.toml"
    if path.is_file():
        return path
    known = at_hand()
    if path.name == str(path) and path.stem in known and path.suffix in ("", ".toml"):
        return known[path.stem]
    if path.suffix or path.parent.name:
        return path
    raise ConfigError(
        f"There is no recipe {str(path)!r}.{nearest(path.stem, known)} `regard recipes` lists those at hand."
    )


def at_hand() -> dict[str, Path]:
    """The recipes in the folder `recipes`, by name."""
    return {path.stem: path for path in sorted(Path("recipes").glob("*.toml"))}


def header(path: Path) -> list[str]:
    """The comment a recipe begins with: what it makes, its command, minutes and score."""
    return [line.strip() for line in comment(path)]
