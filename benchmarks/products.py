"""Products of a few rows with a matrix: our kernels beside torch's, GFLOP/s, and how exact each is.

python benchmarks/products.py
"""

from collections.abc import Callable

import torch
from machine import clock, machine
from torch import Tensor
from torch.nn import functional as F

from regard.nn import native

ROWS = (1, 2, 5, 8, 16, 32, 160)
# Outputs x inputs: of a tiny model, a base one, SmolLM2.
MATRICES = ((128, 128), (256, 128), (5000, 128), (512, 512), (2048, 512), (512, 2048), (10000, 512), (1536, 576))
ROUNDS, WORK = 5, 3e7
Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def rate(by: Product, rows: int, outputs: int, inputs: int) -> float:
    """The best of some rounds, each long enough to be timed."""
    x, weight, bias = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    times, now = max(1, min(300, int(WORK / (rows * outputs * inputs)))), clock()
    by(x, weight, bias)
    best = float("inf")
    for _ in range(ROUNDS):
        began = now()
        for _ in range(times):
            by(x, weight, bias)
        best = min(best, (now() - began) / times)
    return 2e-9 * rows * outputs * inputs / best


def error(by: Product, inputs: int) -> float:
    """The mean distance from what doubles give."""
    torch.manual_seed(0)
    x, weight = torch.randn(64, inputs), torch.randn(256, inputs)
    return float((by(x, weight, None) - x.double() @ weight.double().T).abs().mean())


@torch.inference_mode()
def main() -> None:
    print(machine())
    for outputs, inputs in MATRICES:
        found = [(rows, *(rate(by, rows, outputs, inputs) for by in (native.linear, F.linear))) for rows in ROWS]
        told = ", ".join(f"{rows}: {ours:.0f} / {theirs:.0f}" for rows, ours, theirs in found)
        print(f"{outputs} x {inputs}, rows: ours / torch   {told}")
    for inputs in (128, 576, 2048):
        print(f"mean error over {inputs}: ours {error(native.linear, inputs):.1e}, torch {error(F.linear, inputs):.1e}")


if __name__ == "__main__":
    main()
