"""The two calls most programs need."""

from collections.abc import Callable, Iterable
from pathlib import Path

from regard.api import recipes
from regard.api.pipeline import Pipeline
from regard.api.training import Training
from regard.train import Step


def train(
    recipe: recipes.Given,
    out: str | Path,
    changes: Iterable[str] = (),
    resume: bool = False,
    progress: Callable[[Step], None] = lambda _: None,
) -> Pipeline:
    """The model a recipe makes, its run left in `out`; `progress` hears of every update."""
    training = Training(recipes.read(recipe, changes), Path(out), resume)
    for step in training.steps():
        progress(step)
    return training.finish()


def load(folder: str | Path, *changes: str, verify: bool = False) -> Pipeline:
    """The model of a run or bundle; changes are settings, such as `load("runs/x", "search.beams=1")`."""
    return Pipeline.load(folder, changes, verify)
