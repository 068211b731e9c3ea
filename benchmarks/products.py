"""Products of a few rows with a matrix: our kernels, those in eight bits, and torch's, GFLOP/s; ours also where weights
come from afar, as those of a large model do; how exact each is.

python benchmarks/products.py
"""

from collections.abc import Callable

import torch
from machine import clock, machine
from torch import Tensor
from torch.nn import functional as F

from regard.nn import native, small

ROWS = (1, 2, 5, 8, 16, 32, 160)
# Outputs x inputs: of a tiny model, a base one, SmolLM2.
MATRICES = (
    (128, 128),
    (256, 128),
    (5000, 128),
    (512, 512),
    (2048, 512),
    (512, 2048),
    (10000, 512),
    (1536, 576),
    (49152, 576),
)
ROUNDS, WORK = 5, 3e7
# Bytes of weights that are too many for the cache of a core.
AFAR = 1e8
Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def rates(rows: int, outputs: int, inputs: int) -> list[float]:
    """All by turns, the best of some rounds; ours with its weights packed before, as a stack has them."""
    x, weight, bias = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    full, eight = weight.clone(), weight.clone()
    native.pack_small(eight, *small.rounded(eight))
    kept = native.packed(full), native.packed(eight)
    by, less = (each.linear(bias) for each in kept)
    ways = (lambda: native.projection(by, x), lambda: native.projection(less, x), lambda: F.linear(x, weight, bias))
    times, now, best = max(1, min(300, int(WORK / (rows * outputs * inputs)))), clock(), [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for number, way in enumerate(ways):
            way()
            began = now()
            for _ in range(times):
                way()
            best[number] = min(best[number], (now() - began) / times)
    return [2e-9 * rows * outputs * inputs / each for each in best]


def from_afar(rows: int, outputs: int, inputs: int) -> float:
    """Ours through so many matrices, one after the other, that none is left in a near cache when its turn comes."""
    x, count = torch.randn(rows, inputs), max(1, int(AFAR / (4 * outputs * inputs)))
    kept = [native.packed(torch.randn(outputs, inputs)) for _ in range(count)]
    every, best, now = [each.linear(None) for each in kept], float("inf"), clock()
    for _ in range(ROUNDS):
        began = now()
        for by in every:
            native.projection(by, x)
        best = min(best, now() - began)
    return 2e-9 * rows * outputs * inputs * count / best


def error(by: Product, inputs: int) -> float:
    """The mean distance from what doubles give."""
    torch.manual_seed(0)
    x, weight = torch.randn(64, inputs), torch.randn(256, inputs)
    return float((by(x, weight, None) - x.double() @ weight.double().T).abs().mean())


@torch.inference_mode()
def main() -> None:
    print(machine())
    for outputs, inputs in MATRICES:
        found = {rows: rates(rows, outputs, inputs) for rows in ROWS}
        told = ", ".join(f"{rows}: {' / '.join(f'{each:.0f}' for each in some)}" for rows, some in found.items())
        print(f"{outputs} x {inputs}, rows: ours / in eight bits / torch   {told}")
    for outputs, inputs in ((512, 512), (2048, 512), (512, 2048), (10000, 512)):
        told = ", ".join(f"{rows}: {from_afar(rows, outputs, inputs):.0f}" for rows in ROWS)
        print(f"{outputs} x {inputs}, weights from afar, rows: ours   {told}")
    for inputs in (128, 576, 2048):
        print(f"mean error over {inputs}: ours {error(native.linear, inputs):.1e}, torch {error(F.linear, inputs):.1e}")


if __name__ == "__main__":
    main()
