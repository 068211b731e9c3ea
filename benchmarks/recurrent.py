"""Recurrent models, forward and backward, beside torch's own ways.

A bidirectional LSTM over a ragged batch, its padding held still, against packed batches; the queries of a decoder,
one an example, with a matrix a head, against torch.matmul, which copies the matrix for every example; and an encoder-
decoder with additive attention whose target is learned at once, against the same by its modules step by step, by turns,
with a loss over 10,000 pieces and without.

python benchmarks/recurrent.py
"""

import statistics
import time

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.attention.products import by_head
from regard.models import RecurrentSequence, SequenceSettings, Vocabulary
from regard.nn import Recurrent, RecurrentSettings
from regard.train.allocation import keep_freed

SIZES = ((32, 20, 128), (44, 150, 256))
QUERIES = ((128, 1, 256), (128, 4, 64))
DECODERS = (("lstm", 256), ("gru", 256), ("gru", 128))
PIECES = 10_000
TIMES, TURNS = 3, 9


def seconds(run: object) -> float:
    run()  # type: ignore[operator]
    began = time.process_time()
    for _ in range(TIMES):
        run()  # type: ignore[operator]
    return (time.process_time() - began) / TIMES


def learning(cell: str, width: int, whole: bool) -> None:
    """Updates of 128 pairs, 16 pieces to read and 18 to write, both ways by turns."""
    stack = {"cell": cell, "width": width, "dropout": 0.1}
    settings = SequenceSettings.read({"encoder": stack, "decoder": stack, "tied": "all"})
    model = RecurrentSequence(settings, Vocabulary(PIECES, PIECES)).train()
    source, target = torch.randint(3, PIECES, (128, 16)), torch.randint(3, PIECES, (128, 18))
    real = torch.arange(16) < torch.randint(10, 17, (128, 1))

    def update() -> float:
        model.zero_grad()
        began = time.process_time()
        found = model(source, target, real)
        (model.output.loss(found, target, 0.1).total if whole else found.hidden.square().sum()).backward()
        return time.process_time() - began

    def by_modules() -> float:
        # What is hooked is left to its modules.
        handle = model.decoder.register_forward_hook(lambda *_: None)
        took = update()
        handle.remove()
        return took

    turns = [(update(), by_modules()) for _ in range(TURNS + 1)][1:]
    one, other = (statistics.median(side) for side in zip(*turns, strict=True))
    told = f"{cell}, width {width}, additive attention, {'with' if whole else 'without'} its loss"
    print(f"{told}: {one * 1e3:.0f} ms, step by step {other * 1e3:.0f} ms: x{other / one:.2f}")


def main() -> None:
    keep_freed()
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
    for cell, width in DECODERS:
        for whole in (False, True):
            learning(cell, width, whole)


if __name__ == "__main__":
    main()
