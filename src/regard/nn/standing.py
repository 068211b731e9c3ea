"""What is called for a module in its place, for a while."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def standing_in(forwards: Mapping[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    """Inside, calling a module calls what stands in for it; hooks stay. Afterwards, what was there before is back."""
    before = {module: vars(module).get("forward") for module in forwards}
    for module, forward in forwards.items():
        module.forward = forward
    try:
        yield
    finally:
        for module, own in before.items():
            if own is None:
                vars(module).pop("forward", None)
            else:
                module.forward = own
