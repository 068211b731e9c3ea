"""Speed and memory of the chunked loss against the plain one (F.linear, then F.cross_entropy).

    python benchmarks/loss.py [--positions 4096] [--vocabulary 32768] [--width 512] [--repeats 5] [--threads 2]

Times are medians of runs in which the two forms take turns: by the clock, and of the processor (which other work on
the machine blurs less; with --threads 1 hardly at all). Memory is what the resident set of a fresh process grows by at
its peak, above its inputs, in one step (Linux). Leaves with 1 if a goal of the training step is missed.
"""

import argparse
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.nn.losses import chunked_cross_entropy

SMOOTHING = 0.1
LEAST_SPEED = 0.95
MOST_MEMORY = 0.5


class Sizes(NamedTuple):
    positions: int
    vocabulary: int
    width: int
    threads: int


class Seconds(NamedTuple):
    clock: float
    processor: float


class Inputs(NamedTuple):
    hidden: Tensor
    weight: Tensor
    bias: Tensor
    targets: Tensor


def inputs(sizes: Sizes) -> Inputs:
    torch.manual_seed(0)
    hidden = torch.randn(sizes.positions, sizes.width, requires_grad=True)
    weight = torch.nn.Parameter(torch.randn(sizes.vocabulary, sizes.width) * sizes.width**-0.5)
    bias = torch.nn.Parameter(torch.zeros(sizes.vocabulary))
    return Inputs(hidden, weight, bias, torch.randint(sizes.vocabulary, (sizes.positions,)))


def plain(given: Inputs) -> Tensor:
    logits = F.linear(given.hidden, given.weight, given.bias)
    return F.cross_entropy(logits, given.targets, label_smoothing=SMOOTHING, reduction="sum")


def chunked(given: Inputs) -> Tensor:
    return chunked_cross_entropy(*given, smoothing=SMOOTHING).total


Form = Callable[[Inputs], Tensor]
FORMS: dict[str, Form] = {"plain": plain, "chunked": chunked}


def training(form: Form, given: Inputs) -> float:
    for tensor in given[:3]:
        tensor.grad = None
    total = form(given)
    (total / len(given.targets)).backward()
    return total.item()


def evaluation(form: Form, given: Inputs) -> float:
    with torch.no_grad():
        return form(given).item()


STEPS = {"training": training, "evaluation": evaluation}


def resident(field: str) -> int:
    """Bytes of this process in memory: now (VmRSS) or at most so far (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def peak_memory(step: str, form: str, sizes: Sizes) -> int:
    """Runs in a fresh process; a tiny step first loads the libraries, which are not what is measured."""
    torch.set_num_threads(sizes.threads)
    STEPS[step](FORMS[form], inputs(Sizes(8, 16, 8, sizes.threads)))
    given = inputs(sizes)
    before = resident("VmRSS")
    STEPS[step](FORMS[form], given)
    return resident("VmHWM") - before


def memory(step: str, sizes: Sizes) -> dict[str, int]:
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as fresh:
        return {form: fresh.apply(peak_memory, (step, form, sizes)) for form in FORMS}


def seconds(step: str, given: Inputs, repeats: int) -> dict[str, Seconds]:
    """The median times of each form; the first round warms up and is not counted."""
    times: dict[str, list[Seconds]] = {form: [] for form in FORMS}
    for _ in range(repeats + 1):
        for name, form in FORMS.items():
            clock, processor = time.perf_counter(), time.process_time()
            STEPS[step](form, given)
            times[name].append(Seconds(time.perf_counter() - clock, time.process_time() - processor))
    return {name: Seconds(*map(statistics.median, zip(*taken[1:], strict=True))) for name, taken in times.items()}


def difference(given: Inputs) -> float:
    """The largest relative difference between the two forms, of the loss and of each gradient's norm."""
    totals, gradients = [], []
    for form in FORMS.values():
        totals.append(training(form, given))
        gradients.append([tensor.grad for tensor in given[:3]])
    apart = [((left - right).norm() / right.norm()).item() for left, right in zip(*gradients, strict=True)]
    return float(max(abs(totals[0] / totals[1] - 1), *apart))


def main() -> int:
    arguments = parse()
    sizes = Sizes(arguments.positions, arguments.vocabulary, arguments.width, arguments.threads)
    torch.set_num_threads(sizes.threads)
    print(*(f"{name} {size}" for name, size in sizes._asdict().items()), f"torch {torch.__version__}", sep=", ")
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'step':<12}{'form':<9}{'seconds':>9}{'speed':>8}{'cpu s':>9}{'speed':>8}{'peak MB':>9}{'memory':>8}")
    met = [report(step, sizes, arguments.repeats) for step in STEPS]
    print(f"loss and gradients differ by {difference(inputs(sizes)):.0e} at most, relative")
    print(f"goals in training: speed >= {LEAST_SPEED}x, memory <= {MOST_MEMORY}x: {'met' if met[0] else 'MISSED'}")
    return 0 if met[0] else 1


def report(step: str, sizes: Sizes, repeats: int) -> bool:
    """Prints the lines of one kind of step, and says whether the chunked form keeps to the goals."""
    used = memory(step, sizes)
    taken = seconds(step, inputs(sizes), repeats)
    for form in FORMS:
        line = f"{step:<12}{form:<9}"
        for ours, plain_s in zip(taken[form], taken["plain"], strict=True):
            line += f"{ours:>9.2f}{plain_s / ours:>7.2f}x"
        print(f"{line}{used[form] / 2**20:>9.0f}{used[form] / used['plain']:>7.2f}x", flush=True)
    fast = taken["plain"].clock >= LEAST_SPEED * taken["chunked"].clock
    return fast and used["chunked"] <= MOST_MEMORY * used["plain"]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=4096)
    parser.add_argument("--vocabulary", type=int, default=32768)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
