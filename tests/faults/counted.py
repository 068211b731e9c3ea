"""How often a fault is tried: a few times in `make test`, as often as promised in `make test-slow`.

`FAULT_COUNT=20` takes another number of tries, `FAULT_SEED=7` other draws.
"""

import os
import random
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from regard.errors import RegardError

SEED = int(os.environ.get("FAULT_SEED", "0"))
SECONDS = 2.0


def tries(short: int, full: int) -> pytest.MarkDecorator:
    """The test with `count` tries, and once more, marked slow, with all of them."""
    asked = os.environ.get("FAULT_COUNT")
    if asked is not None:
        return pytest.mark.parametrize("count", [int(asked)])
    slow = pytest.param(full, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])
    return pytest.mark.parametrize("count", [short, slow])


def draws(name: str) -> random.Random:
    """Random numbers of its own for every row, the same each time."""
    return random.Random(f"{name} {SEED}")


def refusal(action: Callable[[], object]) -> str:
    """The sentence with which Regard refuses to do something; nothing, if it does it."""
    try:
        action()
    except RegardError as error:
        return str(error)
    return ""


@contextmanager
def bounded(megabytes: int) -> Iterator[None]:
    """Inside, this process may take so much more memory and no more: what asks for it fails."""
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + megabytes * 2**20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def address_space() -> int:
    """The bytes of address space this process has taken."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@contextmanager
def quick(seconds: float = SECONDS) -> Iterator[None]:
    """Fails if what is inside takes longer; time is the processor's, so that a busy machine is no fault."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds
