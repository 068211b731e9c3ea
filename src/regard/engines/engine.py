"""What an engine is: the model as tasks are given it, run by something else where that is faster."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from regard.errors import RequestError


def nothing(recipe: Any) -> None:
    """Nothing is beyond this engine."""


@dataclass(frozen=True)
class Engine:
    """A name, the model that tasks run, and what refuses recipes whose prediction the engine cannot do."""

    name: str
    model: nn.Module
    check: Callable[[Any], None] = nothing
    # What its numbers are, where that is the engine's to choose: stored ones are others where a processor lacks them.
    numbers: str = ""


def beside(module: nn.Module, **attributes: Any) -> Any:
    """A module that shares all with another but for these attributes; the other knows nothing of it."""
    made = copy.copy(module)
    # A shallow copy has the very table of submodules, and would put ours into the other.
    object.__setattr__(made, "_modules", dict(module._modules))
    for name, value in attributes.items():
        if isinstance(value, nn.Module):
            made._modules[name] = value
        else:
            object.__setattr__(made, name, value)
    return made


def refuse_looking(name: str, recipe: Any) -> None:
    """A RequestError for a search that goes by what the model looks at, which this engine does not show."""
    coverage = getattr(getattr(recipe, "search", None), "coverage", 0)
    if coverage:
        raise RequestError(
            f"The engine {name} cannot see what was looked at (search.coverage = {coverage}); use --engine torch."
        )


def refuse_stepwise(name: str, recipe: Any) -> None:
    """A RequestError for predictions that ask a model step by step, past any engine."""
    if getattr(recipe.predict, "simultaneous", None) is not None:
        raise RequestError(f"The engine {name} cannot write while it reads (predict.simultaneous); use --engine torch.")
