"""What a task has to offer before anything is trained; `regard check RECIPE` proves the rest on a recipe of it."""

from collections.abc import Mapping
from typing import Any

from regard.api.broken import Clause, require
from regard.tasks import TASKS


def described(kind: str, name: str, options: Mapping[str, Any]) -> str:
    task = TASKS[name]
    fields = task.fields
    told = f"fields = {fields!r}"
    require(
        isinstance(fields, tuple) and all(isinstance(field, str) for field in fields), f"{told}: no tuple of names."
    )
    require(len(fields) >= 1, f"{told}: a task needs something to read, and last what is to be predicted.")
    require(len(set(fields)) == len(fields), f"{told}: a field is named twice.")
    return f"{told}, the last to be predicted"


def settings(kind: str, name: str, options: Mapping[str, Any]) -> str:
    fields = TASKS[name].Recipe.model_fields
    needed = [setting for setting, field in fields.items() if field.is_required()]
    strange = sorted(set(needed) - {"task", "data", "model"})
    require(not strange, f"{', '.join(strange)}: settings without a default, so no recipe is short.")
    return f"{len(fields)} groups of settings, all but {', '.join(needed)} with defaults"


TASK: dict[str, Clause] = {"says what it reads and predicts": described, "its settings have defaults": settings}
