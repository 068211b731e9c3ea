"""How a pretrained model is tuned: what stays as it is, what learns slowly, and what learns in a few directions only.

It goes by the names of parameters. A pattern is the beginning of a name, step by step, with `*` (or any other sign of
fnmatch) inside a step: `encoder.embedding`, `encoder.stack.blocks.[0-3]`, `decoder.blocks.*.cross`.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Annotated

from pydantic import Field, PositiveFloat
from torch import nn

from regard.config import Settings
from regard.errors import ConfigError, nearest
from regard.nn.lora import LoraSettings, adapt, freeze

LAYER = re.compile(r"((?:.*?\.)?(?:blocks|layers))\.(\d+)\.")


class TuningSettings(Settings):
    """What of a model learns, and how fast; factors multiply, whatever they come from."""

    frozen: tuple[str, ...] = ()
    # Each layer learns so much as fast as the one above it, embeddings as the layer below the lowest. Every stack
    # counts from its own top.
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    # Factors by pattern.
    rates: dict[str, PositiveFloat] = Field(default={})
    lora: LoraSettings | None = None
    # The factor of what did not come from the start, such as a new head; layer_decay leaves it alone.
    fresh: PositiveFloat = 1.0


def apply(tuning: TuningSettings, model: nn.Module, fresh: Collection[str] | None) -> dict[str, float]:
    """Freeze and adapt the model; the factor of the learning rate for every parameter that then learns.

    `fresh` names what did not come from a start, and is None where there was no start at all.
    """
    _check_start(tuning, fresh)
    before = _names(model)
    new = {number for number, names in before.items() if fresh and not set(names).isdisjoint(fresh)}
    _freeze(tuning, model, before)
    if tuning.lora is not None:
        adapt(model, tuning.lora, fresh or ())
    after = _names(model)
    _check_patterns("rates", tuning.rates, {**before, **after})
    depth = _depths(tuning, (names[0] for number, names in after.items() if number not in new))
    return {
        names[0]: _rate(tuning, names) * (tuning.fresh if number in new else _decay(tuning, names[0], depth))
        for number, names in after.items()
        if model.get_parameter(names[0]).requires_grad
    }


def matches(name: str, pattern: str) -> bool:
    """Whether a name begins as the pattern says.

    >>> matches("encoder.stack.blocks.0.norm.weight", "encoder.*.blocks.0")
    True
    >>> matches("encoder.stack.blocks.10.norm.weight", "encoder.*.blocks.1")
    False
    """
    steps, wanted = name.split("."), pattern.split(".")
    return len(steps) >= len(wanted) and all(map(fnmatchcase, steps, wanted))


def _any_matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(matches(name, pattern) for pattern in patterns for name in names)


def _freeze(tuning: TuningSettings, model: nn.Module, named: Mapping[int, list[str]]) -> None:
    _check_patterns("frozen", tuning.frozen, named)
    for parameter in model.parameters():
        if _any_matches(named[id(parameter)], tuning.frozen):
            freeze(parameter)


def _names(model: nn.Module) -> dict[int, list[str]]:
    """Every parameter's names by its identity; a tied one has several, and goes by the first."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return names


def _check_start(tuning: TuningSettings, fresh: Collection[str] | None) -> None:
    if fresh is not None:
        return
    if tuning.lora is not None:
        raise ConfigError("tuning.lora adapts what was learned before, and nothing was: give model.start.")
    if tuning.fresh != 1.0:
        raise ConfigError(
            f"tuning.fresh = {tuning.fresh} is for what did not come from a start, and there is none: give model.start."
        )


def _check_patterns(setting: str, patterns: Iterable[str], named: Mapping[int, list[str]]) -> None:
    """Each pattern has to mean something."""
    names = [name for several in named.values() for name in several]
    for pattern in patterns:
        if not any(matches(name, pattern) for name in names):
            begins = {begin for name in names for begin in accumulate(name.split("."), lambda one, two: f"{one}.{two}")}
            first = sorted({name.partition(".")[0] for name in names})
            raise ConfigError(
                f"tuning.{setting}: no parameter's name begins with {pattern!r}.{nearest(pattern, sorted(begins))} "
                f"Names begin with {', '.join(first)}."
            )


def _depths(tuning: TuningSettings, names: Iterable[str]) -> dict[str, int]:
    """The number of layers of every stack, by its name."""
    depths: dict[str, int] = {}
    for found in filter(None, map(LAYER.match, names)):
        depths[found[1]] = max(depths.get(found[1], 0), int(found[2]) + 1)
    if tuning.layer_decay != 1.0 and not depths:
        raise ConfigError(
            f"tuning.layer_decay = {tuning.layer_decay}: nothing that came from the start stands in layers (numbered "
            "as in blocks.3); give tuning.rates by name."
        )
    return depths


def _decay(tuning: TuningSettings, name: str, depths: Mapping[str, int]) -> float:
    found = LAYER.match(name)
    if found:
        return tuning.layer_decay ** (depths[found[1]] - 1 - int(found[2]))
    embedding = any(step.startswith("embed") for step in name.split("."))
    return tuning.layer_decay ** max(depths.values(), default=0) if embedding else 1.0


def _rate(tuning: TuningSettings, names: Iterable[str]) -> float:
    """The product of the factors of all patterns that match."""
    factor = 1.0
    for pattern, share in tuning.rates.items():
        if _any_matches(names, (pattern,)):
            factor *= share
    return factor
