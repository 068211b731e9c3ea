"""Recipes and bundles found by where they stand, without importing what would read them.

`regard.api.recipes` says the same to programs; it brings torch along, which a list or a tab cannot wait for.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.files import comment

# Where a run, and where a bundle, tells what it is.
MANIFESTS = ("bundle/manifest.json", "manifest.json")


def at_hand() -> dict[str, Path]:
    """The recipes in the folder `recipes`, by name."""
    return {path.stem: path for path in sorted(Path("recipes").glob("*.toml"))}


def header(path: Path) -> list[str]:
    """The comment a recipe begins with."""
    return [line.removeprefix(" ") for line in comment(path)]


def recipe_of(path: Path) -> Path:
    """The file that holds the recipe of a run, of a bundle, or of this name."""
    if not path.is_dir():
        return at_hand().get(str(path), path)
    inside = path / "bundle" / "recipe.toml"
    return inside if inside.exists() else path / "recipe.toml"


def dotted(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting by its dotted name, with its value."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
