"""A model's tensors by name, each once, and put back with every mismatch named."""

from collections.abc import Mapping

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
