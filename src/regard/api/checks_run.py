"""The promise that training keeps: resumed = never stopped."""

from itertools import count
from pathlib import Path
from typing import Any

from regard import train
from regard.api.broken import require, same
from regard.api.training import Training
from regard.tasks import Recipe
from regard.train.log import CLOCK


def trained(recipe: Recipe, folder: Path) -> Path:
    """Where the bundle of a whole run stands."""
    run = Training(recipe, folder)
    for _ in run.steps():
        pass
    run.finish()
    return folder / "bundle"


def resume(recipe: Recipe, folder: Path) -> str:
    """One run unbroken; one asked to stop, resumed, left without a word between two checkpoints, and resumed again."""
    unbroken, broken = folder / "unbroken", folder / "broken"
    for _ in Training(recipe, unbroken).steps():
        pass
    third, updates = recipe.train.updates // 2, recipe.train.updates
    calls = count(1)
    for _ in Training(recipe, broken).steps(stop=lambda: next(calls) >= third):
        pass
    for step in Training(recipe, broken, resume=True).steps():
        if step.progress.update == updates - 1:
            break
    for _ in Training(recipe, broken, resume=True).steps():
        pass
    tensors = _compared(unbroken / "checkpoints", broken / "checkpoints")
    wanted, found = (_log(folder / "log.jsonl") for folder in (unbroken, broken))
    require(wanted == found, "the logs differ by more than the clock.")
    return (
        f"{updates} updates unbroken, against stopped after {third}, left after {updates - 1} and resumed both times: "
        f"{tensors} tensors of parameters, optimizer and random state bit for bit, {len(wanted)} lines of log the same"
    )


def _compared(one: Path, other: Path) -> int:
    """How many tensors the last checkpoints hold, all of them the same."""
    wanted, found = train.newest(one)[0], train.newest(other)[0]
    if wanted is None or found is None:
        require(False, "a run left no checkpoint.")
        return 0
    require(wanted.update == found.update, f"one run ended at update {wanted.update}, the other at {found.update}.")
    require(wanted.tensors.keys() == found.tensors.keys(), "the checkpoints hold different groups.")
    for group, tensors in wanted.tensors.items():
        require(tensors.keys() == found.tensors[group].keys(), f"{group}: not the same tensors.")
        for name, tensor in tensors.items():
            same(found.tensors[group][name], tensor, f"{group} {name}")
    return sum(len(tensors) for tensors in wanted.tensors.values())


def _log(path: Path) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name not in CLOCK} for line in train.log.read(path)]
