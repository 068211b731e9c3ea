"""A served bundle as `/v1/models` tells of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.api.explaining import methods
from regard.api.pipeline import inside
from regard.attention.taps import taps
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Served
from regard.tasks import Recipe


def described(served: Served, settings: ServeSettings) -> dict[str, Any]:
    """All that a client can know before it asks; OpenAI's fields first."""
    loaded = served.loaded
    pipeline, looks = loaded.pipeline, any(name.endswith(".weights") for name in taps(loaded.pipeline.model))
    spoken = languages(pipeline.recipe)
    return {
        "id": served.name,
        "object": "model",
        "created": loaded.created,
        "owned_by": "regard",
        "task": pipeline.recipe.task,
        "title": served.title,
        "fields": list(pipeline.task.inputs()),
        **({"languages": spoken} if spoken else {}),
        "parameters": sum(one.numel() for one in pipeline.model.parameters()),
        "golden": [dict(entry) for entry in pipeline.golden[: settings.golden]],
        "methods": methods(),
        "scores": pipeline.scores,
        "settings": plain(pipeline.recipe),
        "writes": "search" in type(pipeline.recipe).model_fields,
        "looks": looks,
        "audit": audit(loaded.folder),
    }


def languages(recipe: Recipe) -> dict[str, list[str]]:
    """The languages of each field, where the corpora say."""
    found: dict[str, list[str]] = {}
    for corpus in recipe.data.train:
        for field, language in corpus.languages.items():
            if language not in found.setdefault(field, []):
                found[field].append(language)
    return found


def plain(recipe: Recipe) -> dict[str, Any]:
    """How it searches and tells, as settings of a request can change it."""
    whole = recipe.plain()
    tables: dict[str, Mapping[str, Any]] = {name: whole[name] for name in ("search", "predict") if name in whole}
    return {f"{table}.{name}": value for table, values in tables.items() for name, value in values.items()}


def audit(folder: Path) -> str | None:
    """What an audit said in its first sentence, where `audit.json` stands beside the bundle."""
    place = inside(folder)
    for path in (place / "audit.json", place.parent / "audit.json"):
        try:
            found = json.loads(path.read_text("utf-8"))["sentences"][0]
        except (OSError, ValueError, LookupError, TypeError):
            continue
        return str(found)
    return None
