"""What a vocabulary shortlist could save at most: a decoding step with fewer and fewer pieces to choose from.

python benchmarks/shortlist.py

Random models, the argmax of each step included, nothing of what it costs to make a shortlist for a batch; one thread.
"""

import torch
from machine import machine
from stepping import SIZES, seconds

from regard.models import Transformer, TransformerSettings, Vocabulary

PIECES, ROWS, ROUNDS = (10_000, 4_000, 2_000, 1_000, 500), (1, 5, 32, 160), 5


def main() -> None:
    torch.set_num_threads(1)
    print(machine())
    for size, (layers, width, heads, hidden) in SIZES.items():
        settings = {"width": width, "layers": layers, "attention": {"heads": heads}, "feedforward": {"hidden": hidden}}
        read = TransformerSettings.read(settings)
        models = [Transformer(read, Vocabulary(pieces, pieces)).eval() for pieces in PIECES]
        for rows in ROWS:
            times: list[list[float]] = [[] for _ in PIECES]
            for _ in range(ROUNDS):
                for model, some in zip(models, times, strict=True):
                    some.append(seconds(model, rows))
            best = [min(some) for some in times]
            told = "  ".join(f"{pieces:,}: x{best[0] / time:.2f}" for pieces, time in zip(PIECES, best, strict=True))
            print(f"{size:5} {rows:4} rows  {best[0] * 1e3:6.2f} ms  {told}")


if __name__ == "__main__":
    main()
