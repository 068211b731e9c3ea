"""What length costs: a self-attention layer, forward and backward, 1,024 to 16,384 pieces; and decoding by batch size.

python benchmarks/length.py [--longest N] [--bundle BUNDLE --sources FILE [--sentences N]] [--json FILE] [--images DIR]

Each kernel and length runs in a process of its own: seconds of the second pass, and the highest resident memory during
it minus what was resident before (Linux only). Quadratic and linear are meant from the shortest length on; a window's
time is linear. With a translator and sentences, throughput is measured against the size of a batch, greedy. With DIR
two plots are drawn, length.svg and batches.svg.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from attention_memory import resident
from machine import clock, machine

WIDTH, HEADS, SHORTEST = 512, 8, 1024
WINDOW = {"name": "window", "before": 128, "after": 128}
KERNELS: dict[str, dict[str, Any]] = {
    "fused": {"kernel": "fused"},
    "chunked": {"kernel": "chunked"},
    "window of 128 each side": {"kernel": "auto", "scope": WINDOW},
}
# What decides is whether a layer keeps to it: time within 1.3 of the square, memory within 1.3 of the length.
ALLOWED = 1.3
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
INK, FAINT, COLOURS = "#333333", "#d9d9d9", ("#1f5fa8", "#c8501e", "#4a8f4a")

Measured = dict[str, dict[int, dict[str, float]]]


def layer(name: str, length: int) -> dict[str, float]:
    """Seconds and peak megabytes of one pass of a layer."""
    from regard.attention import HeadsSettings, MultiHeadAttention

    attention = MultiHeadAttention(HeadsSettings.model_validate({"heads": HEADS, **KERNELS[name]}), WIDTH)

    def run(size: int) -> None:
        x = torch.randn(1, size, WIDTH, requires_grad=True)
        attention(x, attention.remember(x, None)).sum().backward()

    run(256)
    now = clock()
    before, began = resident("VmRSS"), now()
    run(length)
    return {"seconds": now() - began, "megabytes": resident("VmHWM") - before}


def elsewhere(name: str, length: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--layer", name, str(length)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def measured(longest: int) -> Measured:
    lengths = [length for length in (SHORTEST << power for power in range(10)) if length <= longest]
    found: Measured = {name: {} for name in KERNELS}
    for length in lengths:
        for name in KERNELS:
            found[name][length] = elsewhere(name, length)
    return found


def tell(found: Measured) -> None:
    print(f"One layer, width {WIDTH}, {HEADS} heads, forward and backward. {machine()}")
    print(f"{'kernel':<26}{'length':>8}{'seconds':>9}{'MB':>8}   time to the square, memory to the length")
    for name, rows in found.items():
        first = rows[SHORTEST]
        for length, one in rows.items():
            times = length / SHORTEST
            square = one["seconds"] / first["seconds"] / times**2
            line = one["megabytes"] / first["megabytes"] / times
            over = "  over" if max(square, line) > ALLOWED else ""
            costs = f"{one['seconds']:>9.2f}{one['megabytes']:>8.0f}"
            print(f"{name:<26}{length:>8}{costs}   x{square:.2f}  x{line:.2f}{over}")
    for name in ("chunked", "window of 128 each side"):
        faster = [length for length, one in found[name].items() if one["seconds"] < found["fused"][length]["seconds"]]
        begins = f"from {min(faster):,} pieces on" if faster else "at none of these lengths"
        print(f"{name} is faster than fused {begins}.")


def throughput(bundle: Path, sources: Path, count: int) -> dict[int, float]:
    """Sentences a second by size of batch."""
    from regard.api import Pipeline

    sentences = sources.read_text("utf-8").splitlines()[:count]
    loaded = Pipeline.load(bundle, ["device=cpu", "search.method=greedy"])
    found, now = {}, clock()
    for rows in BATCHES:
        pipeline = loaded.with_settings(f"predict.rows={rows}")
        pipeline.predict(sentences[: min(rows, 8)])
        began = now()
        pipeline.predict(sentences)
        found[rows] = len(sentences) / (now() - began)
        print(f"batches of {rows:>3}: {found[rows]:7.1f} sentences a second  x{found[rows] / found[1]:.1f}", flush=True)
    return found


def draw(found: Measured, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    time, memory = figure.subplots(1, 2)
    for (name, rows), colour in zip(found.items(), COLOURS, strict=True):
        lengths = list(rows)
        for panel, what in ((time, "seconds"), (memory, "megabytes")):
            panel.plot(lengths, [one[what] for one in rows.values()], color=colour, marker="o", label=name)
    first = found["fused"][SHORTEST]
    lengths = list(found["fused"])
    time.plot(lengths, [first["seconds"] * (n / SHORTEST) ** 2 for n in lengths], ":", color=INK, label="quadratic")
    memory.plot(lengths, [first["megabytes"] * n / SHORTEST for n in lengths], ":", color=INK, label="linear")
    for panel, title in ((time, "seconds"), (memory, "megabytes")):
        dress(panel, lengths, "pieces", title)
        panel.set_yscale("log", base=10)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
    write(figure, path)


def draw_batches(found: dict[int, float], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 3.4), layout="constrained")
    panel = figure.subplots()
    panel.plot(list(found), list(found.values()), color=COLOURS[0], marker="o", label="greedy")
    dress(panel, list(found), "sentences in a batch", "sentences a second")
    panel.set_ylim(bottom=0)
    write(figure, path)


def dress(panel: Any, ticks: list[int], across: str, up: str) -> None:
    panel.set_xscale("log", base=2)
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    panel.set_xlabel(across, color=INK)
    panel.set_ylabel(up, color=INK)
    panel.grid(color=FAINT, linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=8)


def write(figure: Any, path: Path) -> None:
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    # The same figures are the same bytes: no date, and names of parts that do not change.
    with matplotlib.rc_context({"svg.hashsalt": "regard"}):
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def main(given: argparse.Namespace) -> None:
    found = measured(given.longest)
    tell(found)
    batches = throughput(given.bundle, given.sources, given.sentences) if given.bundle and given.sources else {}
    if given.json:
        given.json.write_text(json.dumps({"machine": machine(), "length": found, "batches": batches}, indent=1) + "\n")
    if given.images:
        draw(found, given.images / "length.svg")
        if batches:
            draw_batches(batches, given.images / "batches.svg")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=16384)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--images", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--layer"]:
        print(json.dumps(layer(sys.argv[2], int(sys.argv[3]))))
    else:
        main(arguments())
