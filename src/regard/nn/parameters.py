"""A model's tensors by name, each once, and put back with every mismatch named."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import DataError


def named(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter and stored buffer; a tied one stands under its first name only."""
    stored = model.state_dict(keep_vars=True)
    first: dict[int, str] = {}
    for name, tensor in stored.items():
        first.setdefault(id(tensor), name)
    return {name: stored[name].detach() for name in first.values()}


@torch.no_grad()
def fill(model: nn.Module, tensors: Mapping[str, Tensor], place: str = "The file") -> None:
    """Copy tensors into the model; all of it must be filled, and nothing left over."""
    own = named(model)
    for name in own.keys() - tensors.keys():
        raise DataError(f"{place} lacks {name}, which this model needs; it belongs to another model.")
    for name, tensor in tensors.items():
        if name not in own:
            raise DataError(f"{place} holds {name}, which this model does not have; it belongs to another model.")
        if tensor.shape != own[name].shape or tensor.dtype != own[name].dtype:
            raise DataError(
                f"{place} holds {name} as {tensor.dtype} {tuple(tensor.shape)}, this model has {own[name].dtype} "
                f"{tuple(own[name].shape)}."
            )
    for name, tensor in tensors.items():
        own[name].copy_(tensor)


class Filled(NamedTuple):
    """What came of a start: the model's names that were filled, those that were not, and the start's left over."""

    filled: tuple[str, ...]
    fresh: tuple[str, ...]
    unused: tuple[str, ...]


@torch.no_grad()
def fill_shared(
    model: nn.Module,
    tensors: Mapping[str, Tensor],
    renamed: Mapping[str, str] | None = None,
    place: str = "The start",
) -> Filled:
    """Copy tensors into the model where it has their names; `renamed` gives the model's prefix for one of the tensors'.

    With {"": "encoder."} all that is stored goes into the encoder. The longest prefix that fits a name is changed.
    """
    own, stored = named(model), {name: _renamed(name, renamed or {}) for name in tensors}
    shared = {new: tensors[name] for name, new in stored.items() if new in own}
    _check_shared(own, list(stored.values()), shared, place)
    for name, tensor in shared.items():
        own[name].copy_(tensor)
    fresh = tuple(name for name in own if name not in shared)
    return Filled(tuple(shared), fresh, tuple(name for name, new in stored.items() if new not in own))


def _renamed(name: str, renamed: Mapping[str, str]) -> str:
    prefix = max((prefix for prefix in renamed if name.startswith(prefix)), key=len, default=None)
    return name if prefix is None else renamed[prefix] + name.removeprefix(prefix)


def _check_shared(own: Mapping[str, Tensor], names: list[str], shared: Mapping[str, Tensor], place: str) -> None:
    if not shared:
        raise DataError(
            f"{place} shares no parameter with this model: it holds {_first(names)}, the model {_first(list(own))}."
        )
    for name in shared:
        if names.count(name) > 1:
            raise DataError(f"{place} holds {name} twice once its names are changed; change fewer prefixes.")
        if shared[name].shape != own[name].shape:
            raise DataError(
                f"{place} holds {name} as {tuple(shared[name].shape)}, this model has {tuple(own[name].shape)}; "
                "take the start's own settings and tokenizer, or leave this part out."
            )


def _first(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "") if names else "nothing"
