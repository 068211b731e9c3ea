"""Layers that keep nothing for backward but their inputs, and are computed a second time there   (Chen et al. 2016)."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from torch import nn
from torch.utils.checkpoint import checkpoint

from regard.nn.standing import standing_in


class Recomputed:
    """The layers of a model's stacks. What was dropped the first time is dropped the second: outputs are the same."""

    def __init__(self, model: nn.Module) -> None:
        stacks = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
        self.layers = [layer for stack in stacks for layer in stack]

    @contextmanager
    def used(self) -> Iterator[None]:
        """Inside, calling a layer keeps only what went in."""
        kept = {layer: partial(checkpoint, layer.forward, use_reentrant=False) for layer in self.layers}
        with standing_in(kept):
            yield
