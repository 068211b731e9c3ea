"""The demo: teach a small Transformer to write strings backwards, in about half a minute, and draw where it looks."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Int
from rich.console import Console
from rich.table import Table
from torch import Tensor

from regard.attention import record
from regard.decode import greedy
from regard.errors import DataError
from regard.models import Transformer, TransformerSettings, Vocabulary
from regard.nn import IGNORE
from regard.starter import ALPHABET, reversal

# Padding, begin and end, then the letters: a piece is the place of its sign.
SIGNS = "·^■" + ALPHABET
VOCABULARY = Vocabulary(len(SIGNS), len(SIGNS), begin=1, end=2)
SETTINGS = TransformerSettings.read(
    {
        "width": 64,
        "layers": 2,
        "attention": {"heads": 4},
        "feedforward": {"hidden": 128},
        "embedding": {"dropout": 0.0},
        "dropout": 0.0,
        "place": "pre",
    }
)
STEPS, BATCH, RATE, WARM_UP = 800, 64, 3e-3, 100
SHOWN = "attention"


@dataclass(frozen=True)
class Batch:
    """Pairs of strings as the model reads them."""

    source: Int[Tensor, "B S"]
    real: Bool[Tensor, "B S"]
    target: Int[Tensor, "B T"]
    wanted: Int[Tensor, "B T"]


def run(out: Path, seed: int) -> None:
    """Train, measure on strings never seen, show, draw, and say what to type next."""
    console, began = Console(), time.monotonic()
    torch.manual_seed(seed)
    pairs = reversal(20_000, seed)
    training, held_out = pairs[500:], pairs[:500]
    model = Transformer(SETTINGS, VOCABULARY)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    console.print(f"Teaching a Transformer of {parameters:,} parameters to write strings backwards.")
    for step, loss in train(model, training):
        if step % 100 == 0:
            console.print(f"  step {step:>3} of {STEPS}   loss {loss:.3f}   exact {accuracy(model, held_out):6.1%}")
    console.print(
        f"{accuracy(model, held_out):.1%} of {len(held_out)} strings it never saw are exact "
        f"({time.monotonic() - began:.0f} s)."
    )
    console.print(examples(model, [source for source, _ in held_out[:5]] + [SHOWN]))
    picture = draw(model, SHOWN, out)
    console.print(f"Where it looked: [bold]{picture}[/bold]")
    console.print("Next: open the picture, read docs/attention.md, or run `make test`.")


def train(model: Transformer, pairs: list[tuple[str, str]]) -> Iterator[tuple[int, float]]:
    """One update at a time, with the loss it started from."""
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    for step in range(1, STEPS + 1):
        optimizer.param_groups[0]["lr"] = RATE * min(step / WARM_UP, 1.0 - 0.95 * step / STEPS)
        first = step * BATCH % (len(pairs) - BATCH)
        batch = collate(pairs[first : first + BATCH])
        model.train()
        loss = model.output.loss(model(batch.source, batch.target, batch.real), batch.wanted).mean
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield step, loss.item()


def collate(pairs: list[tuple[str, str]]) -> Batch:
    """A rectangle of pieces; the target begins with its own sign, and what is wanted ends with another."""
    source = padded([[*pieces(string), VOCABULARY.end] for string, _ in pairs], 0)
    target = padded([[VOCABULARY.begin, *pieces(backwards)] for _, backwards in pairs], 0)
    wanted = padded([[*pieces(backwards), VOCABULARY.end] for _, backwards in pairs], IGNORE)
    # The mask comes from lengths, never from ids: a piece is padding because of where it stands.
    lengths = torch.tensor([len(string) + 1 for string, _ in pairs])
    return Batch(source, torch.arange(source.shape[1]) < lengths[:, None], target, wanted)


def pieces(string: str) -> list[int]:
    return [SIGNS.index(letter) for letter in string]


def padded(rows: list[list[int]], filler: int) -> Int[Tensor, "B T"]:
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])


def written(model: Transformer, strings: list[str]) -> list[str]:
    """What the model makes of each string."""
    model.eval()
    batch = collate([(string, string) for string in strings])
    outputs = greedy(model, batch.source, batch.real, longest=batch.source.shape[1] + 2)
    return ["".join(SIGNS[piece] for piece in output) for output in outputs]


def accuracy(model: Transformer, pairs: list[tuple[str, str]]) -> float:
    answers = written(model, [source for source, _ in pairs])
    return sum(answer == wanted for answer, (_, wanted) in zip(answers, pairs, strict=True)) / len(pairs)


def examples(model: Transformer, strings: list[str]) -> Table:
    table = Table("read", "written", "right")
    for string, answer in zip(strings, written(model, strings), strict=True):
        table.add_row(string, answer, "yes" if answer == string[::-1] else "no")
    return table


def looks(model: Transformer, string: str) -> list[Float[Tensor, "H T S"]]:
    """Cross-attention of every decoder layer while the model reads its own output; each map has passed its check."""
    answer = written(model, [string])[0]
    batch = collate([(string, answer)])
    with torch.no_grad(), record(model, "decoder.*.cross.*.weights") as seen:
        model(batch.source, batch.target, batch.real)
    return [entry.tensor[0] for entry in seen]


def draw(model: Transformer, string: str, out: Path) -> Path:
    """A picture of every head of every layer: what was written downwards, what was read across."""
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    layers, answer = looks(model, string), written(model, [string])[0]
    rows, columns = len(layers), layers[0].shape[0]
    figure: Figure = plt.figure(figsize=(2.6 * columns + 0.8, 2.7 * rows + 0.7), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for layer, weights_HTS in enumerate(layers):
        for head, axes in enumerate(grid[layer]):
            image = axes.imshow(weights_HTS[head].numpy(), vmin=0.0, vmax=1.0, cmap="viridis")
            axes.set_title(f"layer {layer}, head {head}", fontsize=9)
            axes.set_xticks(range(len(string) + 1), [*string, "■"])
            axes.set_yticks(range(len(answer) + 1), [*answer, "■"])
            axes.tick_params(length=0)
    figure.supxlabel("read (■ = end)", fontsize=10)
    figure.supylabel("written", fontsize=10)
    figure.suptitle(f"Where the decoder looks while it writes “{string}” backwards", fontsize=12)
    figure.colorbar(image, ax=grid, label="attention weight", shrink=0.8)
    path = out / "reversal.png"
    try:
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise DataError(f"Cannot write {path}: {error.strerror}; give another folder with --out.") from None
    finally:
        plt.close(figure)
    return path
