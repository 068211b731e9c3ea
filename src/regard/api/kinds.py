"""The kinds of parts that can be added, the dicts they join, and what each has to be."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from regard.attention import NORMALIZERS, OUTPUTS, POSITIONS, SCOPES, SCORES, Position
from regard.attention.normalizers import Normalizer
from regard.attention.outputs import Output
from regard.attention.scopes import Scope
from regard.attention.scores import Score
from regard.config import Settings
from regard.data import CLEANERS, READERS, Cleaner
from regard.decode import LENGTHS
from regard.decode.lengths import Length
from regard.metrics import METRICS, Metric
from regard.models import MODELS
from regard.tasks import TASKS, Recipe, Task
from regard.train import SCHEDULES, Schedule

# Why something cannot be a part of its kind, or nothing.
Unfit = Callable[[Any], str]


@dataclass(frozen=True)
class Kind:
    """What a part is called in messages, the dict it joins, and the reason why something cannot be one."""

    word: str
    known: dict[str, Any]
    unfit: Unfit


def built_on(base: type) -> Unfit:
    """A class that inherits from ours, whose settings a recipe can give."""

    def unfit(part: Any) -> str:
        if not (inspect.isclass(part) and issubclass(part, base)):
            return f"it has to be a class built on {base.__module__}.{base.__qualname__}, and is {part!r}"
        return _settings(part)

    return unfit


def _settings(part: type) -> str:
    for name, parameter in inspect.signature(part).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        if parameter.annotation is parameter.empty or parameter.default is parameter.empty:
            return f"its setting {name!r} needs a type and a default"
    return ""


def _model(part: Any) -> str:
    if not (inspect.isclass(part) and issubclass(part, nn.Module)):
        return f"it has to be a class built on torch.nn.Module, and is {part!r}"
    if not _is_class(getattr(part, "Settings", None), Settings):
        return "it needs a class `Settings` built on regard.config.Settings, from which it is made"
    return _lacks(part, ("start", "step"))


def _metric(part: Any) -> str:
    if not isinstance(getattr(part, "name", None), str) and _is_class(part, Metric):
        return "it needs a `name`, under which its scores are told"
    return built_on(Metric)(part)


def _task(part: Any) -> str:
    if not inspect.isclass(part):
        return f"it has to be a class with what regard.tasks.Task asks for, and is {part!r}"
    if not _is_class(getattr(part, "Recipe", None), Recipe):
        return "it needs a class `Recipe` built on regard.tasks.Recipe"
    if missing := _lacks(part, ("fields", "learn", "load", "files", "encoding", "model", "batch", "loss", "predict")):
        return missing
    return "" if _is_class(part, Task) else "it has to be built on regard.tasks.Task, which answers all the rest"


def _reader(part: Any) -> str:
    return "" if callable(part) else f"it has to be a function from a source to rows and faults, and is {part!r}"


def _lacks(part: type, names: tuple[str, ...]) -> str:
    missing = [name for name in names if not hasattr(part, name)]
    return f"it lacks {', '.join(missing)}" if missing else ""


def _is_class(thing: object, base: type) -> bool:
    return inspect.isclass(thing) and issubclass(thing, base)


KINDS: dict[str, Kind] = {
    "SCORES": Kind("score", SCORES, built_on(Score)),
    "SCOPES": Kind("scope", SCOPES, built_on(Scope)),
    "NORMALIZERS": Kind("normalizer", NORMALIZERS, built_on(Normalizer)),
    "POSITIONS": Kind("position", POSITIONS, built_on(Position)),
    "OUTPUTS": Kind("output", OUTPUTS, built_on(Output)),
    "MODELS": Kind("model", MODELS, _model),
    "METRICS": Kind("metric", METRICS, _metric),
    "TASKS": Kind("task", TASKS, _task),
    "SCHEDULES": Kind("schedule", SCHEDULES, built_on(Schedule)),
    "LENGTHS": Kind("length", LENGTHS, built_on(Length)),
    "CLEANERS": Kind("cleaning step", CLEANERS, built_on(Cleaner)),
    "READERS": Kind("format", READERS, _reader),
}
