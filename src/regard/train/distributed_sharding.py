"""A model of which every process holds a part (fully sharded, torch's FSDP2), and its whole tensors when asked for.

Parameters, gradients and the optimizer's state lie in equal parts on all processes. Feed-forward layers, most of a
Transformer, are put together when they are needed and taken apart again; the rest stays together from an update's
forward to the end of its backward: attention is entered by more ways than `forward`, and these must find it whole.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from regard.nn.feedforward import FeedForward
from regard.train.distributed import Team

if TYPE_CHECKING:
    # They take a second to import, which most runs and all predictions need not wait for.
    from torch.distributed.fsdp import FSDPModule
    from torch.distributed.tensor import DTensor


def shard(model: nn.Module, team: Team) -> None:
    """Leave this process its part of every parameter; do so before an optimizer is made."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    # What feed-forward layers put out is added to, never changed in place.
    warnings.filterwarnings("ignore", message=".*returned a view tensor.*", category=UserWarning)
    team.alike(model)
    mesh = init_device_mesh(team.device.type, (team.size,))
    for module in model.modules():
        if isinstance(module, FeedForward):
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)
    for part in _parts(model):
        # The sum, as everywhere: it is divided once, by the targets of all.
        part.set_gradient_divide_factor(1.0)
        part.set_force_sum_reduction_for_comms(True)


def sharded(module: nn.Module) -> bool:
    """Whether a module is one whose parameters travel together."""
    return hasattr(module, "set_requires_gradient_sync")


@contextmanager
def summing(model: nn.Module) -> Iterator[None]:
    """Around the last backward of an update; in those before, gradients are only gathered up here."""
    root = cast("FSDPModule", model)
    root.set_requires_gradient_sync(True)
    yield
    root.set_requires_gradient_sync(False)


@contextmanager
def gathered(model: nn.Module) -> Iterator[None]:
    """Inside, all of a sharded model is here, and calling it asks nothing of other processes."""
    parts = _parts(model)
    for part in parts:
        part.unshard()
        part.set_reshard_after_forward(False, recurse=False)
    try:
        yield
    finally:
        for part in parts:
            part.reshard()
        for part in parts[1:]:
            part.set_reshard_after_forward(True, recurse=False)


def whole(tensor: Tensor) -> Tensor:
    """The tensor put together from all processes' parts, if it lies in parts; all must ask for it."""
    return cast("DTensor", tensor).full_tensor() if in_parts(tensor) else tensor


def own_part(tensor: Tensor) -> Tensor:
    """What this process has of a tensor."""
    if not in_parts(tensor):
        return tensor
    from torch.distributed.tensor import Shard

    parts = cast("DTensor", tensor)
    # Pieces are put together by their rows.
    assert parts.placements == (Shard(0),), parts.placements
    return parts.to_local()


def all_whole(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: whole(tensor) for name, tensor in tensors.items()}


def like(tensor: Tensor, own: Tensor | None) -> Tensor:
    """A whole tensor as the model holds its own: in parts, if that lies in parts."""
    if own is None or not in_parts(own) or tensor.shape != own.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    parts = cast("DTensor", own)
    return distribute_tensor(tensor.to(own.device), parts.device_mesh, parts.placements)


def all_like(tensors: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: like(tensor, own.get(name)) for name, tensor in tensors.items()}


def in_parts(tensor: Tensor) -> bool:
    """Whether this process holds only a part of a tensor."""
    return hasattr(tensor, "full_tensor")


def _parts(model: nn.Module) -> list["FSDPModule"]:
    """The modules whose parameters travel together, the whole model first; none of a plain model."""
    return [cast("FSDPModule", module) for module in model.modules() if sharded(module)]
