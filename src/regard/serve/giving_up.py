"""Work that stops once nobody wants it: every module of a model asks before it computes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

from torch import nn

_here = local()


class GaveUp(Exception):
    """Nobody waits for this any more."""


def interruptible(model: nn.Module) -> None:
    """Let the model ask; who is answered no leaves through its own `with` and `finally`, and no trace is left."""
    for module in model.modules():
        if next(module.children(), None) is not None:
            module.register_forward_pre_hook(_ask)


@contextmanager
def while_wanted(wanted: Callable[[], bool]) -> Iterator[None]:
    """What this thread computes inside stops with GaveUp once it is not wanted."""
    _here.wanted = wanted
    try:
        yield
    finally:
        _here.wanted = None


def _ask(module: nn.Module, given: tuple[Any, ...]) -> None:
    wanted: Callable[[], bool] | None = getattr(_here, "wanted", None)
    if wanted is not None and not wanted():
        raise GaveUp("Nobody waits for this any more.")
