"""`regard inspect`: what a bundle is, without loading it."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.options import BundleFolder, Json
from regard.cli.printing import columns, printed, scored, size
from regard.cli.shelf import dotted

if TYPE_CHECKING:
    from regard.bundle import Parameter

# Facts whose short name says too little.
NAMES = {"data": "data fingerprint"}
FINGERPRINT = re.compile(r"[0-9a-f]{32,}")


def inspect(folder: BundleFolder, as_json: Json = False) -> None:
    """Show what a bundle is: model, tokenizer, data, scores, files.

    No parameter is loaded and no checksum looked at; predict does both.

    \b
    Examples:
      regard inspect runs/x
      regard inspect runs/x --json
    """
    facts = described(folder)
    if as_json:
        printed(facts)
    else:
        _shown(facts)


def described(folder: Path) -> dict[str, Any]:
    """All that a bundle tells about itself."""
    from regard import bundle
    from regard.api.pipeline import inside
    from regard.config import load
    from regard.text import restored

    place = inside(folder)
    known, parameters = bundle.manifest(place), bundle.shapes(place)
    written = [place / name for name in sorted(known.files) if name.endswith("tokenizer.json")]
    tokenizers = [restored(path.read_text("utf-8"), str(path)) for path in written]
    recipe = load(place / "recipe.toml")
    return {
        "bundle": str(place),
        "task": known.task,
        "made": known.made,
        "versions": known.versions,
        "model": recipe.get("model", {}),
        "parameters": {"all": sum(prod(parameter.shape) for parameter in parameters), **_by_part(parameters)},
        "tokenizers": list(map(str, tokenizers)),
        "facts": known.facts,
        "scores": json.loads((place / "scores.json").read_text("utf-8")),
        "files": {name: record.bytes for name, record in known.files.items()},
    }


def _by_part(parameters: "list[Parameter]") -> dict[str, int]:
    """How many parameters each part of the model has, the largest first."""
    counts: Counter[str] = Counter()
    for parameter in parameters:
        counts[".".join(parameter.name.split(".")[:2])] += prod(parameter.shape)
    return dict(counts.most_common())


def _shown(facts: Mapping[str, Any]) -> None:
    made = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    total = facts["parameters"]["all"]
    rows = [
        ("bundle", facts["bundle"]),
        ("task", facts["task"]),
        ("made", f"{facts['made']} with {made}"),
        ("model", _model(facts["model"])),
        ("parameters", f"{total:,}: " + ", ".join(_shares(facts["parameters"]))),
        *(("tokenizer", told) for told in facts["tokenizers"]),
        *((NAMES.get(name, name), _fact(value)) for name, value in facts["facts"].items() if name != "parameters"),
        ("files", "\n".join(f"{name} ({size(count)})" for name, count in facts["files"].items())),
    ]
    columns(rows, bold=0)
    for name, scores in facts["scores"].items():
        typer.echo(f"\nscores on {'validation' if name == 'valid' else name}")
        scored(scores)


def _shares(parameters: Mapping[str, int]) -> list[str]:
    return [f"{name} {count:,}" for name, count in parameters.items() if name != "all"]


def _model(settings: Mapping[str, Any]) -> str:
    """The name of a model, and its settings as they are set."""
    options = ", ".join(f"{name}={value}" for name, value in dotted(settings) if name != "name")
    return f"{settings.get('name', '')} {options}"


def _fact(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_fact, value))
    if isinstance(value, int):
        return f"{value:,}"
    # The first of its digits tell one fingerprint from another.
    return str(value)[:16] if FINGERPRINT.fullmatch(str(value)) else str(value)
