"""A decoding step by our kernels, by torch with the stack taken apart, and through modules.

python benchmarks/stepping.py
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from machine import clock, machine

from regard.models import Transformer, TransformerSettings, Vocabulary
from regard.nn.native import building

SIZES = {"tiny": (4, 128, 4, 256), "base": (6, 512, 8, 2048)}
SOURCE, STEPS, ROUNDS = 15, 15, 3


@torch.no_grad()
def seconds(model: Transformer, rows: int) -> float:
    now = clock()
    state, pieces = model.start(torch.full((rows, SOURCE), 5))
    began = now()
    for _ in range(STEPS):
        said, state = model.step(pieces, state)
        pieces = said.argmax(-1)
    return (now() - began) / STEPS


@contextmanager
def way(name: str, model: Transformer) -> Iterator[None]:
    """Kernels are there unless told otherwise; with a hook anywhere in a stack, its modules do the work."""
    library = building.library
    hooked = [each.norm.register_forward_hook(lambda *_: None) for each in (model.decoder, model.encoder.stack)]
    for hook in hooked if name != "modules" else []:
        hook.remove()
    if name != "kernels":
        building.library = lambda: None
    try:
        yield
    finally:
        building.library = library
        for hook in hooked:
            hook.remove()


def main() -> None:
    print(machine())
    for size, (layers, width, heads, hidden) in SIZES.items():
        settings = {"width": width, "layers": layers, "attention": {"heads": heads}, "feedforward": {"hidden": hidden}}
        for rows in (1, 5, 32, 160):
            found: dict[str, list[float]] = {"kernels": [], "torch": [], "modules": []}
            for _ in range(ROUNDS):
                for name, times in found.items():
                    # Anew, since a stack remembers who runs it.
                    model = Transformer(TransformerSettings.read(settings), Vocabulary(5000, 5000)).eval()
                    with way(name, model):
                        seconds(model, rows)
                        times.append(seconds(model, rows))
            best = {name: min(times) for name, times in found.items()}
            told = ", ".join(f"{name} {1e3 * one:.2f} ms (x{one / best['kernels']:.1f})" for name, one in best.items())
            print(f"{size}, {rows} rows: {told}")


if __name__ == "__main__":
    main()
