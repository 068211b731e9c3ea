"""Layers that keep nothing for backward but their inputs, and are computed a second time there   (Chen et al. 2016)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint


class Recomputed:
    """The layers of a model's stacks. What was dropped the first time is dropped the second: outputs are the same."""

    def __init__(self, model: nn.Module) -> None:
        stacks = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
        self.layers = [layer for stack in stacks for layer in stack]

    @contextmanager
    def used(self) -> Iterator[None]:
        """Inside, calling a layer keeps only what went in."""
        before: list[Callable[..., Any]] = [layer.forward for layer in self.layers]
        for layer, forward in zip(self.layers, before, strict=True):
            layer.forward = partial(checkpoint, forward, use_reentrant=False)
        try:
            yield
        finally:
            for layer in self.layers:
                del layer.forward
