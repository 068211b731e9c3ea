"""The pictures of docs/attention.md, each made by the code it shows.

.venv/bin/python docs/pictures/attention.py [name ...]
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from PIL import Image
from torch import Tensor

from regard.attention import (
    FREE,
    LOOK_AHEAD,
    NORMALIZERS,
    POSITIONS,
    SCORES,
    Attention,
    AttentionPooling,
    AttentionSettings,
    HeadsSettings,
    Hops,
    Mask,
    Mechanism,
    MechanismSettings,
    MultiHeadAttention,
    PointerGenerator,
    Sizes,
    chunks,
    copied,
    padding,
    record,
    window,
)
from regard.config import make

HERE = Path(__file__).parent
WIDTH, KEYS = 8, 8
DARK, MIDDLE, BRIGHT, NOTHING = "#440154", "#2a788e", "#c7a500", "#dddddd"
SHADES = plt.get_cmap("viridis").with_extremes(bad=NOTHING)


# --- drawing -------------------------------------------------------------------------------------------------------


def save(figure: plt.Figure, name: str) -> None:
    """As a PNG of 256 colours: a third of the size, and no eye can tell."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(256).save(HERE / f"{name}.png", optimize=True)
    print(f"docs/pictures/{name}.png  {(HERE / f'{name}.png').stat().st_size / 1024:.0f} KB")


def heat(axes: Axes, map_QK: Tensor, title: str) -> object:
    """A map of weights; what is exactly zero is grey."""
    drawn = axes.imshow(map_QK.masked_fill(map_QK == 0, torch.nan).numpy(), cmap=SHADES, vmin=0.0, vmax=1.0)
    axes.set_title(title, fontsize=10)
    axes.set_xticks(range(map_QK.shape[1]))
    axes.set_yticks(range(map_QK.shape[0]))
    axes.tick_params(length=0, labelsize=7)
    return drawn


def maps(name: str, cases: dict[str, Tensor], columns: int, about: str, row: str = "query") -> None:
    rows = -(-len(cases) // columns)
    tall = max(map_QK.shape[0] for map_QK in cases.values()) / KEYS
    size = (2.3 * columns + (0.8 if columns > 2 else 1.6), (1.9 * tall + 0.7) * rows + 0.6)
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axes in grid.flat[len(cases) :]:
        axes.axis("off")
    for place, (axes, (title, map_QK)) in enumerate(zip(grid.flat, cases.items(), strict=False)):
        drawn = heat(axes, map_QK, title)
        if place % columns == 0:
            axes.set_ylabel(row, fontsize=9)
        if place + columns >= len(cases):
            axes.set_xlabel("key", fontsize=9)
    bar = figure.colorbar(drawn, ax=grid, shrink=0.7, aspect=18 * rows * tall)
    bar.set_label("weight (grey: exactly 0)", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    figure.suptitle(about, fontsize=11)
    save(figure, name)


def bars(axes: Axes, found: Tensor, names: list[str], title: str, colour: str = MIDDLE) -> None:
    axes.bar(range(len(found)), found.numpy(), color=colour)
    axes.set_title(title, fontsize=9)
    axes.set_xticks(range(len(found)), names, fontsize=7)
    axes.tick_params(axis="y", labelsize=7)
    axes.set_ylim(0, 1.02)


# --- what is drawn -------------------------------------------------------------------------------------------------


def weights(settings: dict, mask: Mask = FREE, training: bool = False) -> Tensor:
    """The weights of one mechanism on vectors of which query i resembles key i."""
    torch.manual_seed(4)
    mechanism = Mechanism(MechanismSettings.of(**settings), Sizes(WIDTH, WIDTH, WIDTH)).train(training)
    keys = torch.randn(1, 1, KEYS, WIDTH)
    asked = 0.8 * keys + 0.3 * torch.randn(1, 1, KEYS, WIDTH)
    with record(mechanism, "weights") as seen, torch.no_grad():
        mechanism(asked, mechanism.remember(keys, keys), mask)
    return seen[0].tensor[0, 0]


def taught(choice: object, task: Callable[[int], tuple[Tensor, Tensor]], steps: int = 300) -> Tensor:
    """The weights of a score on one more example of a task, after it learned to put weight i on key i."""
    torch.manual_seed(0)
    attention = Attention(AttentionSettings.of(score=choice), WIDTH, WIDTH, explicit=True)
    learned = list(attention.parameters())
    optimizer = torch.optim.Adam(learned, lr=0.02) if learned else None
    for _ in range(steps if optimizer else 0):
        queries, keys = task(32)
        right = attention(queries, attention.remember(keys)).weights.diagonal(dim1=1, dim2=2)
        optimizer.zero_grad()
        (-right.clamp(min=1e-6).log().mean()).backward()
        optimizer.step()
    queries, keys = task(1)
    with torch.no_grad():
        return attention(queries, attention.remember(keys)).weights[0]


def find(batch: int) -> tuple[Tensor, Tensor]:
    """Query i is key i with noise."""
    keys = torch.randn(batch, KEYS, WIDTH)
    return 0.8 * keys + 0.3 * torch.randn_like(keys), keys


def walk(batch: int) -> tuple[Tensor, Tensor]:
    """The same query eight times, keys that say nothing: only where it looked last tells where to look next."""
    keys = torch.randn(batch, KEYS, WIDTH)
    return torch.ones_like(keys), keys


def rank(batch: int) -> tuple[Tensor, Tensor]:
    """The same query eight times; the keys' first number falls from key to key, so what was not read yet tells."""
    keys = torch.randn(batch, KEYS, WIDTH)
    keys[..., 0] = torch.linspace(3, -3, KEYS)
    return torch.ones_like(keys), keys


def scores() -> None:
    cases = {name: taught(name, find) for name in SCORES}
    maps("scores", cases, 4, "Query i resembles key i: each score after 300 steps of learning to find it")


def looking_back() -> None:
    cases = {
        "additive: go on": taught("additive", walk),
        "location_aware: go on": taught("location_aware", walk),
        "additive: next in rank": taught("additive", rank, 900),
        "coverage: next in rank": taught("coverage", rank, 900),
    }
    maps("looking_back", cases, 4, "The same query eight times: only a score that sees its own past can move on")


def scopes() -> None:
    cases = {
        "global": weights({"scope": "global"}),
        "window, 1 back, 0 ahead": weights({"scope": {"name": "window", "before": 1, "after": 0}}),
        "local_m, radius 2": weights({"scope": {"name": "local_m", "radius": 2}}),
        "local_p, radius 3": weights({"scope": {"name": "local_p", "radius": 3}}),
        "monotonic, training": weights({"scope": "monotonic"}, training=True),
        "monotonic, evaluation": weights({"scope": "monotonic"}),
    }
    maps("scopes", cases, 3, "Scopes: how far each query looks")


def masks() -> None:
    real = padding(torch.tensor([5]), KEYS)
    cases = {
        "padding (5 real keys)": weights({}, real),
        "look_ahead": weights({}, LOOK_AHEAD),
        "window(2, 0)": weights({}, window(2, 0)),
        "window(2, 0) & padding": weights({}, window(2, 0) & real),
    }
    maps("masks", cases, 4, "Masks: grey may not be attended; the last row of the last one is dead")


def normalizers() -> None:
    row = torch.tensor([2.0, 1.6, 0.9, 0.2, -0.5, -1.5]).view(1, 1, 1, -1)
    cases = {"softmax": "softmax", "softmax, temperature 0.3": {"name": "softmax", "temperature": 0.3}}
    cases |= {"top_softmax, count 3": {"name": "top_softmax", "count": 3}, "sparsemax": "sparsemax", "hard": "hard"}
    assert {make("normalizer", NORMALIZERS, one, Sizes(1, 1, 1)).__class__ for one in cases.values()} == set(
        NORMALIZERS.values()
    )
    figure, grid = plt.subplots(1, len(cases), figsize=(2.0 * len(cases), 2.2), layout="constrained", sharey=True)
    for axes, (title, choice) in zip(grid, cases.items(), strict=True):
        normalizer = make("normalizer", NORMALIZERS, choice, Sizes(1, 1, 1))
        found = normalizer(normalizer.sharpen(row), None)[0, 0, 0].detach()
        bars(axes, found, [f"{score:g}" for score in row.flatten().tolist()], title)
    grid[0].set_ylabel("weight", fontsize=9)
    figure.supxlabel("the score of each key", fontsize=9)
    save(figure, "normalizers")


def positions() -> None:
    torch.manual_seed(1)
    layout = [["sinusoidal"] * 4 + ["learned"] * 4 + ["one_hot"] * 4]
    layout += [["rotary"] * 3 + ["alibi"] * 3 + ["relative"] * 3 + ["bucketed"] * 3]
    figure, grid = plt.subplot_mosaic(layout, figsize=(10, 5.2), layout="constrained")
    for name in ("sinusoidal", "learned", "one_hot"):
        table = make("position", POSITIONS, name, 32).embed(torch.zeros(1, 40, 32), range(40))[0].detach()
        grid[name].imshow(table.numpy(), aspect="auto", cmap="cividis")
        untrained = "" if name == "sinusoidal" else " (untrained)"
        grid[name].set_title(f"{name}: added to embeddings{untrained}", fontsize=9)
        grid[name].set_xlabel("dimension", fontsize=8)
        grid[name].set_ylabel("position", fontsize=8)
    back = range(160)
    turned = make("position", POSITIONS, "rotary", 32).rotate(torch.ones(1, 1, 160, 32), back)[0, 0]
    grid["rotary"].plot(back, (turned @ turned[0]).numpy() / 32, color=MIDDLE)
    grid["rotary"].set_title("rotary: cosine of q and q turned", fontsize=9)
    for head, (shade, line) in enumerate(zip((DARK, MIDDLE, "#35b779", BRIGHT), ("-", "--", "-.", ":"), strict=True)):
        grid["alibi"].plot(back, biases("alibi", 4)[head], line, color=shade, label=f"head {head}")
    grid["alibi"].legend(fontsize=7)
    grid["alibi"].set_title("alibi: bias, a slope a head", fontsize=9)
    grid["relative"].plot(back, biases("relative", 1)[0], color=MIDDLE)
    grid["relative"].axvline(16, color="grey", linewidth=0.8, linestyle=":")
    grid["relative"].set_title("relative: bias, the same past 16", fontsize=9)
    grid["bucketed"].plot(back, biases("bucketed", 1)[0], color=MIDDLE)
    grid["bucketed"].axvline(128, color="grey", linewidth=0.8, linestyle=":")
    grid["bucketed"].set_title("bucketed: number of the bucket", fontsize=9)
    for name in ("rotary", "alibi", "relative", "bucketed"):
        grid[name].set_xlabel("how far back the key stands", fontsize=8)
    for axes in grid.values():
        axes.tick_params(labelsize=7)
    save(figure, "positions")


def biases(name: str, heads: int) -> Tensor:
    """What a scheme adds to the scores of one query, by how far back the key stands."""
    torch.manual_seed(3)
    mechanism = Mechanism(MechanismSettings.of(score="dot", position=name), Sizes(32, 32, 32, heads, heads))
    if name == "bucketed":
        mechanism.position.table.data = torch.arange(32.0)[None]
    keys = torch.zeros(1, heads, 160, 32)
    with record(mechanism, "scores", rows=[-1]) as seen, torch.no_grad():
        mechanism(torch.ones(1, heads, 160, 32), mechanism.remember(keys, keys))
    return seen[0].tensor[0, :, 0].flip(-1)


def heads() -> None:
    torch.manual_seed(2)
    attention = MultiHeadAttention(HeadsSettings.of(heads=4, groups=2), 16)
    text = torch.randn(1, KEYS, 16)
    with record(attention, "*.weights") as seen, torch.no_grad():
        attention(text, attention.remember(text), LOOK_AHEAD)
    cases = {f"head {head}, keys of group {head // 2}": seen[0].tensor[0, head] for head in range(4)}
    maps("heads", cases, 4, "Grouped queries under look-ahead: four heads, two groups of keys and values (untrained)")


def hops() -> None:
    """A memory in which the value of each key is the key to look up next."""
    torch.manual_seed(0)
    keys, onward = torch.randn(1, KEYS, 32), torch.tensor([3, 7, 5, 6, 0, 1, 2, 4])
    reader = Hops(Attention(AttentionSettings.of(score={"name": "cosine", "temperature": 0.05}), 32, 32), 32, hops=6)
    reader.keep.weight.data.zero_()
    with record(reader) as seen, torch.no_grad():
        reader(keys[:, :1], reader.attention.remember(keys, keys[:, onward]))
    path = torch.cat([one.tensor[0, 0] for one in seen])
    maps("hops", {"each answer asks the next question": path}, 1, "Six hops through one memory", row="hop")


def static_dynamic() -> None:
    torch.manual_seed(5)
    states, steps = torch.randn(1, KEYS, WIDTH), 2 * torch.randn(1, 5, WIDTH)
    static = AttentionPooling(AttentionSettings.of(score="dot"), WIDTH)
    dynamic = Attention(AttentionSettings.of(score="dot"), WIDTH, WIDTH)
    with record(static) as once, record(dynamic) as each, torch.no_grad():
        for step in steps.unbind(1):
            static(states)
            dynamic(step[:, None], dynamic.remember(states))
    cases = {
        "static: the text decides": torch.cat([one.tensor[0, 0] for one in once]),
        "dynamic: each step asks": torch.cat([one.tensor[0, 0] for one in each]),
    }
    maps("static_dynamic", cases, 2, "Weights at five output steps", row="step")


def copying() -> None:
    pieces = ["the", "cat", "sat", "on", "mat", "dog"]
    source = torch.tensor([[0, 1, 2, 3, 0, 4]])
    attended = torch.tensor([[[0.10, 0.45, 0.05, 0.02, 0.08, 0.30]]])
    logits = torch.tensor([[[2.0, 0.0, 1.5, 1.0, -1.0, 0.5]]])
    pointer = PointerGenerator(2)
    pointer.gate.weight.data.zero_()
    with torch.no_grad():
        mixed = pointer(logits, attended, source, torch.zeros(1, 1, 2)).exp()[0, 0]
    figure, grid = plt.subplots(1, 4, figsize=(10, 2.3), layout="constrained", sharey=True)
    bars(grid[0], attended[0, 0], [pieces[piece] for piece in source[0]], "weights over the source", DARK)
    bars(grid[1], copied(attended, source, 6)[0, 0], pieces, "copied: 'the' stands there twice", DARK)
    bars(grid[2], logits.softmax(-1)[0, 0], pieces, "generated", BRIGHT)
    bars(grid[3], mixed, pieces, "mixed, gate at one half")
    grid[0].set_ylabel("probability", fontsize=9)
    save(figure, "copying")


def blocks() -> None:
    """Which blocks the chunked kernel computes, from its own plan."""
    length = 1024
    cases = {"look_ahead()": LOOK_AHEAD, "window(200, 0)": window(200, 0), "no mask": FREE}
    figure, grid = plt.subplots(1, 3, figsize=(8.4, 3.5), layout="constrained", sharey=True)
    for axes, (title, mask) in zip(grid, cases.items(), strict=True):
        mechanism = Mechanism(MechanismSettings.of(dropout=0.1), Sizes(64, 64, 64, 8, 8))
        keys = torch.zeros(1, 8, length, 64)
        problem = mechanism._problem(keys, mechanism.remember(keys, keys), mask, range(length), None)
        axes.set_facecolor(NOTHING)
        for rows, columns in chunks.blocks(problem):
            for column in columns:
                corner, wide, high = (column.start, rows.start), column.stop - column.start, rows.stop - rows.start
                axes.add_patch(Rectangle(corner, wide, high, facecolor=MIDDLE, edgecolor="white", linewidth=1))
        axes.set(xlim=(0, length), ylim=(length, 0), xlabel="key", aspect="equal")
        axes.set_xticks(range(0, length + 1, 256))
        axes.set_yticks(range(0, length + 1, 256))
        axes.tick_params(labelsize=7)
        axes.set_title(title, fontsize=10)
    grid[0].set_ylabel("query", fontsize=9)
    figure.suptitle("Blocks that the chunked kernel computes, one at a time; grey is skipped", fontsize=11)
    save(figure, "blocks")


PICTURES = {
    picture.__name__: picture
    for picture in (
        scores,
        looking_back,
        scopes,
        masks,
        normalizers,
        positions,
        heads,
        hops,
        static_dynamic,
        copying,
        blocks,
    )
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
