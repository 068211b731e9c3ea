"""Optimizers by name, with decay where it belongs and states that can be stored without pickle."""

import inspect
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import torch
from pydantic import NonNegativeFloat
from torch import Tensor, nn

from regard.config import Part, Rate, Settings
from regard.errors import ConfigError, DataError, nearest, unknown
from regard.train.muon import Muon, matrices


def eager(kind: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """The same optimizer without what torch wraps around it for its compiler, which is a second and a half to import.

    A model may be compiled; what `train` does with its gradients afterwards is not.
    """
    wrapped = "add_param_group", "zero_grad", "state_dict", "load_state_dict"
    own: dict[str, Any] = {name: inspect.unwrap(getattr(kind, name)) for name in wrapped}
    return type(kind.__name__, (kind,), {**own, "step": torch.no_grad()(inspect.unwrap(kind.step))})


OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": eager(torch.optim.Adam),
    "adamw": eager(torch.optim.AdamW),
    "muon": eager(Muon),
}


class OptimizerSettings(Settings):
    """Which optimizer, how fast, and by what schedule."""

    name: str = "adam"
    rate: NonNegativeFloat = 1e-3
    schedule: Part = Part(name="inverse_root")
    first: Rate = 0.9
    second: Rate = 0.98
    epsilon: NonNegativeFloat = 1e-9
    decay: NonNegativeFloat = 0.0
    # How much of the mean of earlier gradients stays at each update where Muon moves a matrix.
    momentum: Rate = 0.95


def check(settings: OptimizerSettings) -> None:
    """Refuse an optimizer nobody knows."""
    if settings.name not in OPTIMIZERS:
        raise ConfigError(unknown("optimizer", settings.name, OPTIMIZERS))


def build(
    settings: OptimizerSettings, model: nn.Module, factors: Mapping[str, float] | None = None
) -> torch.optim.Optimizer:
    """The optimizer over all that learns; matrices decay, norms, biases and other vectors do not.

    `factors` of the learning rate go by the names of parameters; each group of the optimizer knows its own.
    """
    check(settings)
    learning = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    if not learning:
        raise ConfigError("Nothing in this model learns: every parameter is frozen.")
    maker: Any = OPTIMIZERS[settings.name]
    turned = matrices(model) if settings.name == "muon" else {}
    return maker(
        _groups(settings, learning, factors or {}, turned),
        lr=settings.rate,
        betas=(settings.first, settings.second),
        eps=settings.epsilon,
        fused=True,
    )


def _groups(
    settings: OptimizerSettings,
    learning: Mapping[str, Tensor],
    factors: Mapping[str, float],
    turned: Mapping[Tensor, int],
) -> list[dict[str, Any]]:
    """Parameters of one factor together: the quickest first, matrices before vectors, in the order of the model.

    States are stored by the numbers this gives them. So what has several dimensions and does not decay stays in its
    place, in a group between two that do.
    """
    for name in factors.keys() - learning.keys():
        raise ConfigError(f"A rate is set for {name}, which does not learn in this model.{nearest(name, learning)}")
    together: dict[tuple[float, bool, int], list[str]] = {}
    for name, parameter in learning.items():
        kind = factors.get(name, 1.0), parameter.dim() > 1, turned.get(parameter, 0)
        together.setdefault(kind, []).append(name)
    return [
        {
            "params": [learning[name] for name in names],
            "factor": factor,
            "lr": settings.rate * factor,
            "weight_decay": decay,
            "momentum": settings.momentum,
            "matrices": count,
        }
        for factor, several, count in sorted(together, reverse=True)
        for decay, names in groupby(
            together[factor, several, count],
            lambda name: settings.decay if decays(name, learning[name]) else 0.0,
        )
    ]


def decays(name: str, parameter: Tensor) -> bool:
    """Whether a parameter is a matrix, or one for every head; a vector or a number for every head is none.

    >>> shapes = {"weight": (1, 3), "query": (4, 8, 8), "energy": (1, 16, 1), "sharpness": (4, 1, 1), "bias": (4, 1, 8)}
    >>> [name for name, shape in shapes.items() if decays(name, torch.zeros(shape))]
    ['weight', 'query']
    """
    stacked = sum(side > 1 for side in parameter.shape) > 1 and not name.endswith("bias")
    return stacked if parameter.dim() > 2 else parameter.dim() == 2


def apply_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Let every group learn at its own factor of this rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("factor", 1.0)


def tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's state as named tensors: `number of the parameter.what it is`."""
    state = optimizer.state_dict()["state"]
    return {f"{number}.{name}": value for number, entry in state.items() for name, value in entry.items()}


def load(optimizer: torch.optim.Optimizer, stored: Mapping[str, Tensor]) -> None:
    """Put a stored state back; it must fit the optimizer's parameters one by one."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in stored.items():
        number, _, what = name.partition(".")
        state.setdefault(int(number), {})[what] = value
    _check(list(_parameters(optimizer)), state)
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _parameters(optimizer: torch.optim.Optimizer) -> Iterable[Tensor]:
    for group in optimizer.param_groups:
        yield from group["params"]


def _check(parameters: list[Tensor], state: Mapping[int, Mapping[str, Tensor]]) -> None:
    for number, entry in state.items():
        if number >= len(parameters):
            raise DataError(f"The stored optimizer knows {number + 1} parameters, the model has {len(parameters)}.")
        for what, value in entry.items():
            if value.dim() and value.shape != parameters[number].shape:
                raise DataError(
                    f"The stored optimizer's {what} of parameter {number} has shape {tuple(value.shape)}, the "
                    f"parameter {tuple(parameters[number].shape)}; it belongs to another model."
                )
