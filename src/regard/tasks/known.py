"""All tasks by name. To add one: write its file, add a line."""

from typing import Any

from regard.tasks.translation import TranslationTask

TASKS: dict[str, Any] = {"translation": TranslationTask}
