"""What is freed stays with a process that asked for it, and goes back to the system otherwise."""

import subprocess
import sys

import pytest

CODE = """
import sys
import torch
from regard.train.allocation import keep_freed
from tests.faults.counted import resident

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
