"""A decoding step through modules against the same step taken apart (`regard.nn.stepping`), bit for bit the same.

python benchmarks/stepping.py
"""

import torch
from machine import clock, machine

from regard.models import Transformer, TransformerSettings, Vocabulary

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


def main() -> None:
    print(machine())
    for name, (layers, width, heads, hidden) in SIZES.items():
        settings = {"width": width, "layers": layers, "attention": {"heads": heads}, "feedforward": {"hidden": hidden}}
        model = Transformer(TransformerSettings.read(settings), Vocabulary(5000, 5000)).eval()
        for rows in (1, 32):
            apart, through = [], []
            for _ in range(ROUNDS):
                apart.append(seconds(model, rows))
                # With a hook anywhere in the decoder, its modules do the work.
                hook = model.decoder.norm.register_forward_hook(lambda *_: None)
                through.append(seconds(model, rows))
                hook.remove()
            one, other = min(apart), min(through)
            print(f"{name}, {rows} rows: {1e3 * one:.2f} ms, through modules {1e3 * other:.2f} ms: x{other / one:.1f}")


if __name__ == "__main__":
    main()
