"""The products of training: torch's (MKL's) and ours, which an update takes on processors where MKL is slow; GFLOP/s.

python benchmarks/multiplying.py

Forward, the gradient of what came in and the gradient of the weights, of a batch of 4,096 pieces and of the loss.
"""

import time
from collections.abc import Callable

import torch
from machine import machine

from regard.nn.native import multiplying
from regard.train.allocation import keep_freed

# Rows x inputs x outputs: the tiny model and its loss, the base one, a recurrent step.
SHAPES = ((4096, 128, 128), (4096, 128, 256), (4096, 256, 128), (800, 128, 10000), (4096, 512, 512),
          (4096, 512, 2048), (4096, 2048, 512), (256, 256, 1024))  # fmt: skip
ROUNDS, WORK = 7, 2e9


def rate(work: Callable[[], torch.Tensor], operations: float) -> float:
    """The best of some rounds."""
    times, best = max(1, int(WORK / operations)), float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(times):
            work()
        best = min(best, (time.perf_counter() - began) / times)
    return operations / best / 1e9


@torch.no_grad()
def main() -> None:
    keep_freed()
    print(machine(), "An update takes ours." if multiplying.faster() else "An update takes torch's.")
    multiplying.faster = lambda: True
    for rows, inputs, outputs in SHAPES:
        x, weight, above = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(rows, outputs)
        told = []
        for left, right in ((x, weight.T), (above, weight), (above.T, x)):
            operations = 2.0 * rows * inputs * outputs
            torchs = rate(lambda left=left, right=right: left @ right, operations)
            ours = rate(lambda left=left, right=right: multiplying.product(left, right), operations)
            told.append(f"{torchs:4.0f} -> {ours:4.0f}")
        print(f"{rows:>5} x {inputs:>4} x {outputs:>5}   {'   '.join(told)}")


if __name__ == "__main__":
    main()
