"""The products of training by the library that torch would choose and by the one an update chooses here, GFLOP/s.

python benchmarks/multiplying.py

Forward, the gradient of what came in and the gradient of the weights, of a batch of 4,096 pieces and of the loss.
"""

import time
from collections.abc import Callable

import torch
from machine import machine

from regard.attention.multiplying import faster, widely

# Rows x inputs x outputs: the tiny model and its loss, the base one.
SHAPES = ((4096, 128, 128), (4096, 128, 256), (4096, 256, 128), (800, 128, 10000), (4096, 512, 512),
          (4096, 512, 2048), (4096, 2048, 512))  # fmt: skip
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


def main() -> None:
    print(machine(), "An update chooses oneDNN." if faster() else "An update leaves the choice to torch.")
    for rows, inputs, outputs in SHAPES:
        x, weight, above = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(rows, outputs)
        ways: tuple[Callable[[], torch.Tensor], ...] = (
            lambda x=x, weight=weight: x @ weight.T,
            lambda above=above, weight=weight: above @ weight,
            lambda above=above, x=x: above.T @ x,
        )
        usual = [rate(way, 2.0 * rows * inputs * outputs) for way in ways]
        with widely():
            wide = [rate(way, 2.0 * rows * inputs * outputs) for way in ways]
        told = "   ".join(f"{one:4.0f} -> {other:4.0f}" for one, other in zip(usual, wide, strict=True))
        print(f"{rows:>5} x {inputs:>4} x {outputs:>5}   {told}")


if __name__ == "__main__":
    main()
