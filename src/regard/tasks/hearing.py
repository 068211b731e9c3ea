"""All that could have been put out in the place of each output, for whoever listens while outputs are scored."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor


class Said(NamedTuple):
    """log p of everything at each output, for N versions of the inputs, and which of it is the output."""

    log: Float[Tensor, "N O V"]
    wanted: Int[Tensor, " O"]


_listening: ContextVar[list[Said] | None] = ContextVar("listening", default=None)


@contextmanager
def hearing() -> Iterator[list[Said]]:
    """What is said inside, and in this thread, while outputs are scored."""
    heard: list[Said] = []
    token = _listening.set(heard)
    try:
        yield heard
    finally:
        _listening.reset(token)


def say(log: Float[Tensor, "N O V"], wanted: Int[Tensor, " O"]) -> None:
    """Tell whoever listens."""
    heard = _listening.get()
    if heard is not None:
        heard.append(Said(log, wanted))
