"""A served bundle as `/v1/models` tells of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.api.explaining import methods
from regard.api.pipeline import inside
from regard.attention.taps import taps
from regard.serve.languages import spoken
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Served
from regard.tasks import Recipe


def described(served: Served, settings: ServeSettings) -> dict[str, Any]:
    """All that a client can know before it asks; OpenAI's fields first."""
    loaded = served.loaded
    pipeline, looks = loaded.pipeline, any(name.endswith(".weights") for name in taps(loaded.pipeline.model))
    told = languages(pipeline.recipe, settings.languages.get(served.name, ""), served.name)
    between = getattr(pipeline.recipe, "between", "")
    return {
        "id": served.name,
        "object": "model",
        "created": loaded.created,
        "owned_by": "regard",
        "task": pipeline.recipe.task,
        "engine": loaded.engine,
        "title": served.title,
        "fields": list(pipeline.task.inputs()),
        **({"languages": told} if told else {}),
        **({"between": between} if between else {}),
        "parameters": sum(one.numel() for one in pipeline.model.parameters()),
        "golden": [dict(entry) for entry in pipeline.golden[: settings.golden]],
        "methods": methods(),
        "scores": pipeline.scores,
        "settings": plain(pipeline.recipe),
        "writes": "search" in type(pipeline.recipe).model_fields,
        "looks": looks,
        "audit": audit(loaded.folder),
    }


def languages(recipe: Recipe, told: str, name: str) -> dict[str, list[str]]:
    """The languages of each field: of a translator all it is known to translate, of others what their corpora say."""
    if recipe.task == "translation" and (pairs := list(spoken(recipe, told, name))):
        sides = {"source": [source for source, _, _ in pairs], "target": [target for _, target, _ in pairs]}
        return {field: list(dict.fromkeys(codes)) for field, codes in sides.items()}
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
