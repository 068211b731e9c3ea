"""Peak memory of one training step of attention, above its inputs.

    .venv/bin/python benchmarks/attention_memory.py

Each case runs in a process of its own: import, a tiny warm-up, inputs made; then the highest resident memory during one
forward and backward, minus what was resident before. Context and gradients are part of the figure. Linux only: the
figures come from /proc/self/status.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from machine import clock, machine
from torch import Tensor

from regard.attention import LOOK_AHEAD, Mechanism, MechanismSettings, Sizes, kernels

HEADS, WIDTH = 8, 64
CASES: dict[str, dict[str, Any]] = {
    "dropout 0.1": {"dropout": 0.1},
    "dropout, learned bias (bucketed)": {"dropout": 0.1, "position": "bucketed"},
    "dropout, learned bias and values (relative)": {"dropout": 0.1, "position": "relative"},
    "dropout, values of width 128": {"dropout": 0.1, "value": 128},
    "dropout, 8 heads share 2 groups of keys": {"dropout": 0.1, "groups": 2},
    "dropout, additive score": {"dropout": 0.1, "score": "additive"},
    "no dropout": {},
}
RUNS = [
    ("dropout 0.1", 8192),
    ("dropout 0.1", 16384),
    ("dropout, learned bias (bucketed)", 8192),
    ("dropout, learned bias and values (relative)", 8192),
    ("dropout, values of width 128", 8192),
    ("dropout, 8 heads share 2 groups of keys", 8192),
    ("dropout, additive score", 2048),
    ("no dropout", 8192),
]


def main() -> None:
    found = {(case, length): measured_elsewhere(case, length) for case, length in RUNS}
    print(f"One causal training step, batch 1, {HEADS} heads of {WIDTH}, float32. {machine()}\n")
    print(f"{'case':<45}{'length':>8}{'kernel':>10}{'peak MB':>9}{'seconds':>9}   one tensor of all weights, MB")
    for (case, length), one in found.items():
        explicit = HEADS * length**2 * 4 / 1e6
        print(f"{case:<45}{length:>8}{one['kernel']:>10}{one['peak']:>9.0f}{one['seconds']:>9.1f}{explicit:>12.0f}")
    short, long = found["dropout 0.1", 8192], found["dropout 0.1", 16384]
    print(f"\ndropout 0.1 at  8,192: {short['peak']:.0f} MB            goal: below 400 MB")
    print(f"dropout 0.1 at 16,384: {long['peak'] / short['peak']:.2f} times as much   goal: at most 2.2 times")


def measured_elsewhere(case: str, length: int) -> dict[str, Any]:
    command = [sys.executable, __file__, case, str(length)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measured(case: str, length: int) -> dict[str, Any]:
    """Peak megabytes above the inputs, seconds, and the kernel that was picked."""
    options = dict(CASES[case])
    value, groups = options.pop("value", WIDTH), options.pop("groups", HEADS)
    sizes = Sizes(WIDTH, WIDTH, value, HEADS, groups)
    used: list[str] = []
    for name, kernel in list(kernels.KERNELS.items()):
        kernels.KERNELS[name] = lambda problem, name=name, kernel=kernel: (used.append(name), kernel(problem))[1]

    def inputs(size: int) -> list[Tensor]:
        shapes = [(HEADS, size, WIDTH), (groups, size, WIDTH), (groups, size, value)]
        return [torch.randn(1, *shape, requires_grad=True) for shape in shapes] + [torch.randn(1, HEADS, size, value)]

    def step(mechanism: Mechanism, query: Tensor, keys: Tensor, values: Tensor, gradient: Tensor) -> None:
        mechanism(query, mechanism.remember(keys, values), LOOK_AHEAD).context.backward(gradient)

    for kernel in ("chunked", "reference", "auto"):
        mechanism = Mechanism(MechanismSettings.of(kernel=kernel, **options), sizes)
        step(mechanism, *inputs(64))
    given = inputs(length)
    before, start = resident("VmRSS"), clock()()
    step(mechanism, *given)
    return {"peak": resident("VmHWM") - before, "seconds": clock()() - start, "kernel": used[-1]}


def resident(what: str) -> float:
    """Megabytes of this process that are (VmRSS) or ever were (VmHWM) in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"/proc/self/status does not tell {what}.")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
