"""torch.compile around the updates only: the model keeps its names, and evaluation and taps see the plain module."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from regard.errors import ConfigError, unknown

DEFAULT = "inductor"


class Compiled:
    """A model's forward, compiled on its first use.

    Methods a module names in `untraced` are run as they are. Kernels are chosen by the first batch they see, so with
    `inductor` a resumed run is the unbroken one to rounding only, not to the bit.
    """

    def __init__(self, model: nn.Module, choice: bool | str) -> None:
        self.model = model
        self.backend = choice if isinstance(choice, str) else DEFAULT
        known = torch.compiler.list_backends(exclude_tags=())
        if self.backend not in known:
            raise ConfigError(unknown("backend to compile with", self.backend, known))
        # Cached functions are traced into, which changes nothing but is warned of.
        warnings.filterwarnings("ignore", message=".*lru_cache.*", category=UserWarning)
        for module in model.modules():
            for name in getattr(module, "untraced", ()):
                setattr(module, name, torch.compiler.disable(getattr(module, name)))
        self._call: Callable[..., Any] = torch.compile(model._call_impl, backend=self.backend, dynamic=True)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Inside, calling the model runs what was compiled."""
        before = self.model._compiled_call_impl
        self.model._compiled_call_impl = self._call
        try:
            yield
        except torch._dynamo.exc.TorchDynamoException as error:
            reason = str(error).strip().splitlines()[0].removesuffix(".")
            raise ConfigError(
                f"compile = {self.backend!r}: torch cannot compile this model on this machine ({reason}). "
                "Set compile = false; nothing else changes."
            ) from error
        finally:
            self.model._compiled_call_impl = before
