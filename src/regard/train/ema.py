"""Parameters averaged over the updates, the later ones counting more."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.errors import DataError
from regard.nn.parameters import named


class Ema:
    """average <- d average + (1 - d) parameters, with d = min(decay, (1 + n) / (10 + n)) at the n-th update.

    The smaller d of the beginning lets the average forget the random parameters it began with. Averages are kept in
    float32 or better; whole numbers are copied, not averaged.
    """

    def __init__(self, model: nn.Module) -> None:
        self.count = 0
        self.averages = {name: tensor.to(_kept(tensor), copy=True) for name, tensor in named(model).items()}

    @torch.no_grad()
    def update(self, model: nn.Module, decay: float) -> None:
        """Take in the parameters as they are after an update."""
        self.count += 1
        warm = min(decay, (1 + self.count) / (10 + self.count))
        averages, present = self._paired(model)
        torch._foreach_lerp_(averages, present, 1.0 - warm)

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """Inside, the model holds the averages; afterwards its own parameters again, to the bit."""
        own = {name: tensor.clone() for name, tensor in named(model).items()}
        _copy(self.averages, model)
        try:
            yield
        finally:
            _copy(own, model)

    def tensors(self, model: nn.Module) -> dict[str, Tensor]:
        """The averages under the model's names and in its types."""
        return {name: self.averages[name].to(tensor.dtype) for name, tensor in named(model).items()}

    @classmethod
    def read(cls, model: nn.Module, stored: Mapping[str, Tensor], count: int) -> "Ema":
        """Averages as they were stored; they must be those of this model."""
        ema = cls(model)
        own = ema.averages
        wrong = [name for name in own.keys() | stored.keys() if not _alike(own.get(name), stored.get(name))]
        if wrong:
            raise DataError(f"The stored averages belong to another model: they do not fit {', '.join(sorted(wrong))}.")
        for name, average in own.items():
            average.copy_(stored[name])
        ema.count = count
        return ema

    def _paired(self, model: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
        """Averages and what they average, of one type each; whole numbers are taken over here."""
        averages, present = [], []
        for name, tensor in named(model).items():
            if tensor.is_floating_point():
                averages.append(self.averages[name])
                present.append(tensor.to(self.averages[name].dtype))
            else:
                self.averages[name].copy_(tensor)
        return averages, present


def _alike(one: Tensor | None, other: Tensor | None) -> bool:
    return one is not None and other is not None and one.shape == other.shape


def _kept(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32) if tensor.is_floating_point() else tensor.dtype


@torch.no_grad()
def _copy(tensors: Mapping[str, Tensor], model: nn.Module) -> None:
    for name, own in named(model).items():
        own.copy_(tensors[name])
