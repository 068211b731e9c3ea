"""Attention that is learned from: our kernels beside torch's, forward and backward, milliseconds, by length.

python benchmarks/attending.py
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from machine import clock, machine

from regard.attention.kernels import TORCHS, How
from regard.nn.native.attending import KERNELS
from regard.train.allocation import keep_freed

# Texts x heads x pieces x width of a head: about 4,096 pieces of a tiny and of a base model, then longer texts.
SHAPES = ((250, 4, 16, 32), (128, 8, 32, 64), (16, 8, 128, 64), (8, 8, 256, 64), (4, 8, 512, 64), (2, 8, 1024, 64),
          (1, 8, 2048, 64), (1, 8, 4096, 64))  # fmt: skip
ROUNDS = 5


def milliseconds(ways: list[Callable[[], Any]]) -> list[float]:
    """By turns, the best of some rounds."""
    now, best = clock(), [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for number, way in enumerate(ways):
            way()
            began = now()
            for _ in range(3):
                way()
            best[number] = min(best[number], 1e3 * (now() - began) / 3)
    return best


@torch.no_grad()
def main() -> None:
    keep_freed()
    print(machine(), "Ours, then torch's.")
    for texts, heads, pieces, width in SHAPES:
        for causal in (False, True):
            query, keys, values, probe = (torch.randn(texts, pieces, heads, width).transpose(1, 2) for _ in range(4))
            asked = query, keys, values, None, How(causal, width**-0.5)
            forward = [partial(each.forward, *asked) for each in (KERNELS, TORCHS)]
            backward = [
                partial(each.backward, probe, query, keys, values, *each.forward(*asked), *asked[3:])
                for each in (KERNELS, TORCHS)
            ]
            there, back = milliseconds(forward), milliseconds(backward)
            told = f"forward {there[0]:7.2f} {there[1]:7.2f}   backward {back[0]:7.2f} {back[1]:7.2f}"
            print(f"{texts:>3} x {heads} x {pieces:>4} x {width}  {'look-ahead' if causal else '          '}  {told}")


if __name__ == "__main__":
    main()
