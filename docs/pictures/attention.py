"""The pictures of docs/attention.md, each made by the code it shows.

.venv/bin/python docs/pictures/attention.py
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from torch import Tensor

from regard.attention import (
    LOOK_AHEAD,
    NORMALIZERS,
    POSITIONS,
    SCORES,
    Attention,
    AttentionSettings,
    HeadsSettings,
    Mechanism,
    MechanismSettings,
    MultiHeadAttention,
    Sizes,
    padding,
    record,
    window,
)
from regard.config import make

HERE = Path(__file__).parent
WORDS = ["the", "small", "cat", "saw", "a", "very", "big", "dog"]
WIDTH = 8


def weights(settings: dict, queries: int = 8, training: bool = False, mask=None) -> Tensor:
    """The weights of one mechanism on vectors of which the i-th query resembles the i-th key."""
    torch.manual_seed(4)
    mechanism = Mechanism(MechanismSettings.of(**settings), Sizes(WIDTH, WIDTH, WIDTH)).train(training)
    keys = torch.randn(1, 1, len(WORDS), WIDTH)
    asked = 0.8 * keys[:, :, :queries] + 0.3 * torch.randn(1, 1, queries, WIDTH)
    with record(mechanism, "weights") as seen, torch.no_grad():
        mechanism(asked, mechanism.remember(keys, keys), *([] if mask is None else [mask]))
    return seen[0].tensor[0, 0]


def heat(axes: Axes, map_QK: Tensor, title: str, most: float = 1.0) -> None:
    axes.imshow(map_QK.numpy(), cmap="viridis", vmin=0.0, vmax=most)
    axes.set_title(title, fontsize=10)
    axes.set_xticks(range(map_QK.shape[1]), WORDS[: map_QK.shape[1]], rotation=60, fontsize=7, ha="right")
    axes.set_yticks(range(map_QK.shape[0]), [str(row) for row in range(map_QK.shape[0])], fontsize=7)
    axes.tick_params(length=0)


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(HERE / f"{name}.png", dpi=100)
    plt.close(figure)
    print(f"docs/pictures/{name}.png")


def maps(name: str, cases: dict[str, Tensor], columns: int, about: str) -> None:
    rows = -(-len(cases) // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(2.3 * columns, 2.7 * rows + 0.4), layout="constrained", squeeze=False
    )
    for axes, (title, map_QK) in zip(grid.flat, cases.items(), strict=False):
        heat(axes, map_QK, title)
    for axes in list(grid.flat)[len(cases) :]:
        axes.axis("off")
    figure.suptitle(about, fontsize=11)
    save(figure, name)


def taught(score: str, task: Callable[[int], tuple[Tensor, Tensor]], steps: int = 300) -> Tensor:
    """The weights of a score on one more example of a task, after it learned to put weight i on key i."""
    torch.manual_seed(0)
    attention = Attention(AttentionSettings.of(score=score), WIDTH, WIDTH, explicit=True)
    optimizer = torch.optim.Adam(attention.parameters(), lr=0.02) if list(attention.parameters()) else None
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
    keys = torch.randn(batch, len(WORDS), WIDTH)
    return 0.8 * keys + 0.3 * torch.randn_like(keys), keys


def walk(batch: int) -> tuple[Tensor, Tensor]:
    """The same query eight times: nothing but the past tells where to look next."""
    keys = torch.randn(batch, len(WORDS), WIDTH)
    return torch.ones_like(keys), keys


def scores() -> None:
    cases = {name: taught(name, find) for name in SCORES}
    maps("scores", cases, 4, "Query i resembles key i: each score after 300 steps of learning to find it")


def scopes() -> None:
    cases = {
        "global": weights({"scope": "global"}),
        "window 1 back, 0 ahead": weights({"scope": {"name": "window", "before": 1, "after": 0}}),
        "local_m, radius 2": weights({"scope": {"name": "local_m", "radius": 2}}),
        "local_p, radius 3": weights({"scope": {"name": "local_p", "radius": 3}}),
        "monotonic, training": weights({"scope": "monotonic"}, training=True),
        "monotonic, evaluation": weights({"scope": "monotonic"}),
    }
    maps("scopes", cases, 3, "Scopes: how far each query looks")


def masks() -> None:
    cases = {
        "padding (5 real)": weights({}, mask=padding(torch.tensor([5]), 8)),
        "look-ahead": weights({}, mask=LOOK_AHEAD),
        "window 2 back": weights({}, mask=window(2, 0)),
        "padding & look-ahead": weights({}, mask=padding(torch.tensor([5]), 8) & LOOK_AHEAD),
    }
    maps("masks", cases, 4, "Masks: True = may attend")


def normalizers() -> None:
    row = torch.tensor([2.0, 1.6, 0.9, 0.2, -0.5, -1.5]).view(1, 1, 1, -1)
    cases = {"softmax": "softmax", "softmax, temperature 0.3": {"name": "softmax", "temperature": 0.3}}
    cases |= {
        name: {"name": name} | ({"count": 3} if name == "top_softmax" else {})
        for name in NORMALIZERS
        if name != "softmax"
    }
    figure, grid = plt.subplots(1, len(cases), figsize=(2.1 * len(cases), 2.3), layout="constrained", sharey=True)
    for axes, (title, choice) in zip(grid, cases.items(), strict=True):
        normalizer = make("normalizer", NORMALIZERS, choice, Sizes(1, 1, 1))
        found = normalizer(normalizer.sharpen(row), None)[0, 0, 0].detach()
        axes.bar(range(6), found.numpy(), color="#2a788e")
        axes.set_title(title, fontsize=9)
        axes.set_xticks(range(6), [f"{score:g}" for score in row.flatten().tolist()], fontsize=7)
        axes.set_ylim(0, 1.02)
    grid[0].set_ylabel("weight", fontsize=9)
    figure.supxlabel("score of each key", fontsize=9)
    save(figure, "normalizers")


def positions() -> None:
    figure, grid = plt.subplots(2, 3, figsize=(9.5, 5.2), layout="constrained")
    torch.manual_seed(1)
    empty = torch.zeros(1, 40, 32)
    tables = {
        name: make("position", POSITIONS, name, 32).embed(empty, range(40))[0]
        for name in ("sinusoidal", "learned", "one_hot")
    }
    for axes, (name, table) in zip(grid[0], tables.items(), strict=True):
        axes.imshow(table.detach().numpy(), aspect="auto", cmap="cividis")
        axes.set_title(f"{name}: what is added", fontsize=10)
        axes.set_xlabel("dimension", fontsize=8)
        axes.set_ylabel("position", fontsize=8)
    distances = range(0, 60)
    vector = torch.ones(1, 1, 60, 32)
    rotary = make("position", POSITIONS, "rotary", 32)
    turned = rotary.rotate(vector, range(60))[0, 0]
    grid[1][0].plot(distances, (turned @ turned[0]).numpy() / 32, color="#2a788e")
    grid[1][0].set_title("rotary: q . k by distance", fontsize=10)
    for name, axes in (("alibi", grid[1][1]), ("bucketed", grid[1][2])):
        scheme = make("position", POSITIONS, name, 32, 4)
        mechanism = Mechanism(MechanismSettings.of(score="dot", position=name), Sizes(32, 32, 32, 4, 4))
        mechanism.position = scheme
        with record(mechanism, "scores") as seen, torch.no_grad():
            zero = torch.zeros(1, 4, 60, 32)
            mechanism(zero, mechanism.remember(zero, zero))
        for head, shade in enumerate(("#440154", "#31688e", "#35b779", "#c7a500")):
            axes.plot(distances, seen[0].tensor[0, head, 0].numpy(), color=shade, label=f"head {head}")
        axes.set_title(f"{name}: bias by distance" + (" (untrained)" if name == "bucketed" else ""), fontsize=10)
        axes.legend(fontsize=7)
    for axes in grid[1]:
        axes.set_xlabel("distance", fontsize=8)
    save(figure, "positions")


def heads() -> None:
    torch.manual_seed(2)
    attention = MultiHeadAttention(HeadsSettings.of(heads=4, groups=2), 16)
    text = torch.randn(1, len(WORDS), 16)
    with record(attention, "*.weights") as seen, torch.no_grad():
        attention(text, attention.remember(text), LOOK_AHEAD)
    cases = {f"head {head}, group {head // 2}": seen[0].tensor[0, head] for head in range(4)}
    maps("heads", cases, 4, "Grouped queries under look-ahead: four heads, two groups of keys and values")


def looking_back() -> None:
    cases = {name: taught(name, walk) for name in ("additive", "coverage", "location_aware")}
    maps("looking_back", cases, 3, "The same query eight times, taught to move on: only a score that looks back can")


if __name__ == "__main__":
    for picture in (scores, scopes, masks, normalizers, positions, heads, looking_back):
        picture()
