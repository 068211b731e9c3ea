"""Engines by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.engines.ctranslate2 import by_ctranslate2
from regard.engines.engine import Engine
from regard.engines.onnx import by_onnx
from regard.engines.shortlist import by_shortlist
from regard.errors import ConfigError, unknown
from regard.tasks import Task

Making = Callable[[Task, Any, Path | None, int | None], Engine]


def by_torch(task: Task, model: Any, folder: Path | None = None, workers: int | None = None) -> Engine:
    """The model as it is."""
    return Engine("torch", model)


ENGINES: dict[str, Making] = {
    "torch": by_torch,
    "ctranslate2": by_ctranslate2,
    "onnx": by_onnx,
    "shortlist": by_shortlist,
}


def engine(name: str, task: Task, model: Any, folder: Path | None = None, workers: int | None = None) -> Engine:
    """The model run by the engine of that name; `folder` is that of an export to be run instead of made anew.

    So many `workers` share the threads and the texts of a batch, where the engine has such; it knows best how many.
    """
    if name not in ENGINES:
        raise ConfigError(unknown("engine", name, ENGINES))
    return ENGINES[name](task, model, folder, workers)
