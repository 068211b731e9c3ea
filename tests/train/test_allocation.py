"""What is freed stays with a process that asked for it, and goes back to the system otherwise."""

import subprocess
import sys

import pytest

CODE = """
import sys
import torch
from regard.train.allocation import keep_freed, resident

if sys.argv[1] == "kept":
    assert keep_freed()
before = resident()
large = torch.ones(2**24)
del large
print((resident() - before) / 2**20)
"""


def left(which: str) -> float:
    """Megabytes more than before, after 64 were taken and freed."""
    done = subprocess.run([sys.executable, "-c", CODE, which], capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can be told")
def test_freed_memory_is_kept_if_it_is_asked_to_be() -> None:
    assert left("kept") > 60
    assert left("given back") < 10


GAPS = """
import torch
from regard.train.allocation import Hoard, keep_freed, resident

keep_freed()
hoard = Hoard(most=1.5)
before = torch.ones(2**20)
assert not hoard.look()
# What is in use lies between what was freed: the end of the heap cannot shrink.
parts = [torch.ones(2**18) for _ in range(800)]
parts = parts[::20]
piled = resident()
assert hoard.look()
print((piled - resident()) / 2**20, all(bool((part == 1).all()) for part in parts))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can be told")
def test_what_piled_up_between_what_is_in_use_goes_back() -> None:
    done = subprocess.run([sys.executable, "-c", GAPS], capture_output=True, text=True, check=True)
    megabytes, whole = done.stdout.split()
    assert float(megabytes) > 600
    assert whole == "True"
