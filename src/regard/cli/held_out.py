"""What to measure on: test sets the bundle's recipe names, or files."""

import json
from collections.abc import Sequence
from pathlib import Path

from regard.api import Materials, Pipeline
from regard.api.materials import Fitness
from regard.cli.printing import say
from regard.data import Corpus, CorpusSettings
from regard.errors import ConfigError, nearest
from regard.files import byte_lines


def corpora(pipeline: Pipeline, data: Sequence[str]) -> dict[str, Corpus]:
    """Held-out corpora by name: all of the recipe's if none is named, those named, or the one these files make."""
    known = pipeline.recipe.data.test
    if not data and not known:
        raise ConfigError(
            "The bundle's recipe names no test set. Say what to measure on: a file of sources and one of references."
        )
    if set(data) <= set(known):
        materials = Materials(pipeline.recipe)
        return {name: materials.test(name) for name in data or known}
    if strangers := [name for name in data if name not in known and not _like_file(name)]:
        raise ConfigError(_unknown(strangers[0], list(known)))
    recipe, settings = pipeline.recipe, _settings(pipeline, data)
    return {" ".join(data): Corpus(settings, recipe.data.policy, fault=Fitness(recipe, settings))}


def rows(corpus: Corpus) -> list[dict[str, str]]:
    """The fields of its rows; what was left out is said beside the results."""
    found = [row.fields for row in corpus]
    for told in corpus.counts.reasons():
        say(told)
    return found


def _settings(pipeline: Pipeline, data: Sequence[str]) -> CorpusSettings:
    """A file like that of training; files side by side, one a field; or one table, its columns in the order of the
    fields, its keys their names."""
    form = _form(pipeline, data)
    fields, trained = form or pipeline.task.fields, pipeline.recipe.data.train[:1]
    alike = trained and form in (None, trained[0].fields)
    if len(data) == 1 and alike and trained[0].path and suffix(trained[0].path) == suffix(data[0]):
        # It may be in another language than that corpus; `predict.language` says.
        return trained[0].model_copy(update={"path": data[0], "share": None, "by": (), "languages": {}})
    if len(data) == len(fields):
        return CorpusSettings.read({"files": dict(zip(fields, data, strict=True))})
    if len(data) > 1:
        wanted = " and ".join(fields)
        raise ConfigError(f"{len(data)} files were named; give one each for {wanted}, or one table with both.")
    keys = CorpusSettings.read({"path": data[0], "columns": {name: name for name in fields}})
    if keys.kind == "jsonl":
        return keys
    return CorpusSettings.read({"path": data[0], "columns": {name: place for place, name in enumerate(fields, 1)}})


def _form(pipeline: Pipeline, data: Sequence[str]) -> tuple[str, ...] | None:
    """Where a task reads rows of several forms: that of the first line of JSON, if it tells."""
    forms = pipeline.task.forms()
    if len(forms) == 1 or len(data) != 1 or suffix(data[0]) != ".jsonl":
        return None
    try:
        found = json.loads(next(byte_lines(data[0]), b""))
    except (ValueError, RecursionError):
        return None
    return next((form for form in forms if isinstance(found, dict) and set(form) <= set(found)), None)


def suffix(path: str) -> str:
    """The ending of a file's name, gzip or not."""
    return Path(path.removesuffix(".gz")).suffix


def _like_file(name: str) -> bool:
    """Whether this is meant as a file: it is one, or has an ending or a folder; the reader says if it is not there."""
    return "." in name or "/" in name or Path(name).is_file()


def _unknown(name: str, known: Sequence[str]) -> str:
    there = f" Test sets of the recipe: {', '.join(sorted(known))}." if known else ""
    return f"{name!r} is neither a test set nor a file.{nearest(name, known)}{there}"
