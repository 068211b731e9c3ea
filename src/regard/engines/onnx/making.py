"""A model handed to ONNX Runtime: written down in a folder of its own, read from there, and the folder removed."""

import json
import tempfile
from pathlib import Path
from typing import Any

from regard.convert import onnx
from regard.engines.engine import Engine, beside, refuse_looking, refuse_stepwise
from regard.engines.onnx.running import Encoding, Stepping
from regard.tasks import Task

NAME = "onnx"


def by_onnx(task: Task, model: Any, folder: Path | None = None, workers: int | None = None) -> Engine:
    """The model run by ONNX Runtime, from the folder of an export if there is one."""
    if folder is not None:
        return _engine(model, folder)
    with tempfile.TemporaryDirectory(prefix="regard-") as made:
        onnx.write(model, Path(made))
        return _engine(model, Path(made))


def _engine(model: Any, folder: Path) -> Engine:
    described = json.loads((folder / onnx.DESCRIPTION).read_text("utf-8"))
    if described["kind"] == "encoder":
        run = Encoding(folder / "encoder.onnx", model.encoder)
        return Engine(NAME, beside(model, encoder=beside(model.encoder, forward=run)))
    steps = Stepping(folder, described, model)
    made = beside(model, start=steps.start, step=steps.step)
    return Engine(NAME, made, _check)


def _check(recipe: Any) -> None:
    refuse_stepwise(NAME, recipe)
    refuse_looking(NAME, recipe)
