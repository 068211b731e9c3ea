"""What figures depend on: the machine, torch, and its threads. Run alone, it prints them."""

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import torch

# One thread unless asked otherwise: two threads on a busy machine wait for each other and measure that.
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def machine() -> str:
    threads = torch.get_num_threads()
    many = "" if threads == 1 else "s"
    return f"{processor()}, torch {torch.__version__}, {threads} thread{many}, {clock().__name__.replace('_', ' ')}."


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def clock() -> Callable[[], float]:
    """Seconds of the processor for one thread, so that other work on the machine does not count; else of the wall."""
    return time.process_time if torch.get_num_threads() == 1 else time.perf_counter


if __name__ == "__main__":
    print(machine())
