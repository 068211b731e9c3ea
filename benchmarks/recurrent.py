"""Recurrent models, forward and backward, beside torch's own ways.

A bidirectional LSTM over a ragged batch, its padding held still, against packed batches; and the queries of a decoder,
one an example, with a matrix a head, against torch.matmul, which copies the matrix for every example.

python benchmarks/recurrent.py
"""

import time

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.attention.products import by_head
from regard.nn import Recurrent, RecurrentSettings

SIZES = ((32, 20, 128), (44, 150, 256))
QUERIES = ((128, 1, 256), (128, 4, 64))
TIMES = 3


def seconds(run: object) -> float:
    run()  # type: ignore[operator]
    began = time.process_time()
    for _ in range(TIMES):
        run()  # type: ignore[operator]
    return (time.process_time() - began) / TIMES


def main() -> None:
    torch.manual_seed(0)
    for texts, length, width in SIZES:
        ours = Recurrent(RecurrentSettings(width=width, both_ways=True, dropout=0.0), width)
        theirs = ours.blocks[0]
        x = torch.randn(texts, length, width, requires_grad=True)
        lengths = torch.randint(length // 2, length + 1, (texts,))
        real = torch.arange(length) < lengths[:, None]

        def held(ours=ours, x=x, real=real) -> None:
            ours(x, real)[0].sum().backward()

        def packed(theirs=theirs, x=x, lengths=lengths) -> None:
            given = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            pad_packed_sequence(theirs(given)[0], batch_first=True)[0].sum().backward()

        one, other = seconds(held), seconds(packed)
        told = f"{texts} texts of up to {length}, width {width}"
        print(f"{told}: {one * 1e3:.0f} ms, packed {other * 1e3:.0f} ms: x{other / one:.1f}")
    for texts, heads, width in QUERIES:
        query = torch.randn(texts, heads, 1, width, requires_grad=True)
        weight = torch.randn(heads, width, width, requires_grad=True)

        def by_heads(query=query, weight=weight) -> None:
            by_head(query, weight).sum().backward()

        def copied(query=query, weight=weight) -> None:
            (query @ weight).sum().backward()

        one, other = seconds(by_heads), seconds(copied)
        told = f"a query of each of {texts} texts, {heads} heads of {width}"
        print(f"{told}: {one * 1e3:.2f} ms, matmul {other * 1e3:.2f} ms: x{other / one:.1f}")


if __name__ == "__main__":
    main()
