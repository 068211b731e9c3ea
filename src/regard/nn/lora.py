"""Low-rank adaptation: a pretrained model stays as it is and learns narrow matrices beside its own, to be folded in.

    adapt(model, LoraSettings(rank=8))      the named linear layers become `Lora`s; all else is frozen
    ...                                     train
    merge(model)                            the same outputs from a plain model with its old names

Stored by the names it then has, what was learned this way is a plain model like any other.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

import torch
from jaxtyping import Float
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from regard.config import Rate, Settings
from regard.errors import ConfigError, ModelError, unknown
from regard.nn.dropout import Dropout

M = TypeVar("M", bound=nn.Module)


class LoraSettings(Settings):
    """How narrow, how strong, and which linear layers, by the last step of their names."""

    rank: PositiveInt = 8
    alpha: PositiveFloat = 16.0
    dropout: Rate = 0.0
    on: tuple[str, ...] = Field(default=("query", "value"), min_length=1)


class Lora(nn.Module):
    """W x + b + alpha / rank B A drop(x), of which only A and B learn   (Hu et al. 2022, section 4.1).

    B starts at zero, so the layer starts as the one it wraps. `weight` is W + alpha / rank B A, for whoever reads the
    matrix instead of calling the layer: gradients reach A and B that way too, but nothing is dropped.
    """

    def __init__(self, plain: nn.Linear, settings: LoraSettings) -> None:
        super().__init__()
        self.plain, self.scale = plain, settings.alpha / settings.rank
        self.in_features, self.out_features = plain.in_features, plain.out_features
        self.down = nn.Parameter(plain.weight.new_empty(settings.rank, plain.in_features))
        self.up = nn.Parameter(plain.weight.new_zeros(plain.out_features, settings.rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5.0))
        self.dropout = Dropout(settings.dropout)

    @property
    def weight(self) -> Float[Tensor, "O I"]:
        return folded_weight(self.plain.weight, self.down, self.up, self.scale)

    @property
    def bias(self) -> Float[Tensor, " O"] | None:
        return self.plain.bias

    def forward(self, x: Float[Tensor, "*B I"]) -> Float[Tensor, "*B O"]:
        narrow_BR = nn.functional.linear(self.dropout(x), self.down)
        return self.plain(x) + self.scale * nn.functional.linear(narrow_BR, self.up)


def folded_weight(
    weight: Float[Tensor, "O I"], down: Float[Tensor, "R I"], up: Float[Tensor, "O R"], scale: float
) -> Float[Tensor, "O I"]:
    """W + scale B A."""
    return weight + scale * (up @ down)


def adapt(model: nn.Module, settings: LoraSettings, learning: Collection[str] = ()) -> list[str]:
    """The names of the layers that were adapted; all other parameters are frozen but those named in `learning`.

    A layer whose matrix is frozen already, or goes on learning itself, is left alone.
    """
    if any(isinstance(module, Lora) for module in model.modules()):
        raise ModelError("This model is adapted already; merge it before adapting it again.")
    whole = {id(tensor) for name, tensor in model.named_parameters(remove_duplicate=False) if name in learning}
    chosen = _chosen(model, settings.on, whole)
    for tensor in model.parameters():
        if id(tensor) not in whole:
            freeze(tensor)
    # A layer that stands in two places is adapted once, and then stands in both again.
    made = {id(layer): Lora(layer, settings) for layer in dict.fromkeys(chosen.values())}
    for name, layer in chosen.items():
        _put(model, name, made[id(layer)])
    return list(chosen)


@torch.no_grad()
def merge(model: nn.Module) -> list[str]:
    """Fold what was learned into the layers it was learned for; the names of those, which are plain again."""
    found = dict(_of_kind(model, Lora))
    for layer in dict.fromkeys(found.values()):
        layer.plain.weight.copy_(layer.weight)
    for name, layer in found.items():
        _put(model, name, layer.plain)
    return list(found)


def folded(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of an adapted model, named and folded as `merge` would leave them; the model is not changed."""
    adapted = {name: module for name, module in model.named_modules() if isinstance(module, Lora)}
    plain: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        owner, _, what = name.rpartition(".")
        layer = owner.removesuffix(".plain")
        if layer not in adapted:
            plain[name] = tensor
        elif layer != owner:
            down, up = tensors[f"{layer}.down"], tensors[f"{layer}.up"]
            whole = what == "weight"
            plain[f"{layer}.{what}"] = folded_weight(tensor, down, up, adapted[layer].scale) if whole else tensor
    return plain


def freeze(parameter: Tensor) -> None:
    """Take a parameter out of learning, with any gradient it still has."""
    parameter.requires_grad_(False)
    parameter.grad = None


def _chosen(model: nn.Module, on: Collection[str], whole: Collection[int]) -> dict[str, nn.Linear]:
    """The layers to adapt, under every name they have."""
    every = dict(_of_kind(model, nn.Linear))
    steps = {_step(name) for name in every}
    for step in on:
        if step not in steps:
            raise ConfigError(f"lora.on: {unknown('linear layer', step, steps)}")
    asked = {layer for name, layer in every.items() if _step(name) in on}
    asked = {layer for layer in asked if layer.weight.requires_grad and id(layer.weight) not in whole}
    chosen = {name: layer for name, layer in every.items() if layer in asked}
    if not chosen:
        raise ConfigError(
            f"lora.on = {', '.join(on)}: each of these layers is frozen or learns as a whole, so there is none to "
            f"adapt. Linear layers: {', '.join(sorted(steps))}."
        )
    _refuse_shared(model, chosen)
    return chosen


def _refuse_shared(model: nn.Module, chosen: Mapping[str, nn.Linear]) -> None:
    """A matrix that two layers hold cannot be folded into one of them alone."""
    holders = Counter(id(tensor) for module in model.modules() for tensor in module.parameters(recurse=False))
    for name, layer in chosen.items():
        if holders[id(layer.weight)] > 1:
            raise ConfigError(f"lora.on: {name} shares its matrix with another layer; leave {_step(name)} out.")


def _of_kind(model: nn.Module, kind: type[M]) -> Iterator[tuple[str, M]]:
    """Every module of a kind inside the model, under every name it has."""
    for name, module in model.named_modules(remove_duplicate=False):
        if name and isinstance(module, kind):
            yield name, module


def _step(name: str) -> str:
    return name.rpartition(".")[2]


def _put(model: nn.Module, name: str, module: nn.Module) -> None:
    parent, _, step = name.rpartition(".")
    setattr(model.get_submodule(parent), step, module)
