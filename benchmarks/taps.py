"""What it costs to look: recording one head of one layer, in time and in memory.

    .venv/bin/python benchmarks/taps.py

Time: a block of width 512 with 8 heads and a feed-forward of 2,048, at length 512; the same forward with and without a
recorder, turn about, so that a busy machine disturbs both alike; medians, and the median of the ratios of neighbours.
Memory: the most that a recording adds at once, told by torch's own profiler, for more and more of what may be asked.
"""

import os
import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

# The profiler that counts memory would report every start and stop.
os.environ["KINETO_LOG_LEVEL"] = "99"

import torch
from machine import clock, machine
from torch import Tensor, nn

from regard.attention import LOOK_AHEAD, HeadsSettings, Mask, MultiHeadAttention, record

WIDTH, INNER, HEADS, LENGTH, TURNS = 512, 2048, 8, 512, 41
GOAL = 0.15


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x))."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(HeadsSettings(heads=HEADS), WIDTH)
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, INNER), nn.ReLU(), nn.Linear(INNER, WIDTH))

    def forward(self, states: Tensor, mask: Mask = LOOK_AHEAD) -> Tensor:
        normed = self.first(states)
        states = states + self.attention(normed, self.attention.remember(normed), mask)
        return states + self.feed_forward(self.second(states))


def main() -> None:
    torch.manual_seed(0)
    block = Block()
    print(f"{machine()}\n")
    times(block)
    memory(block)


def times(block: Block) -> None:
    states = torch.randn(1, LENGTH, WIDTH)
    print(f"Forward of one block (width {WIDTH}, feed-forward {INNER}, length {LENGTH}), {TURNS} turns about")
    print(f"{'watching':<34}{'plain ms':>10}{'watched ms':>12}{'costs more':>12}   goal")
    asked: dict[str, dict[str, Any]] = {
        "one head": {"heads": [0]},
        "one head, one row": {"heads": [0], "rows": [-1]},
        "all heads": {},
    }
    for training in (False, True):
        block.train(training)
        for name, selection in asked.items():
            plain, watched, more = alternated(block, states, selection, training)
            label = f"{name}, {'training' if training else 'evaluation'}"
            goal = f"at most {GOAL:.0%}" if name == "one head" else ""
            print(f"{label:<34}{plain * 1e3:>10.2f}{watched * 1e3:>12.2f}{more:>+12.1%}   {goal}".rstrip())
    block.eval()


def alternated(block: Block, states: Tensor, selection: dict[str, Any], gradients: bool) -> tuple[float, float, float]:
    """Median seconds without and with a recorder, and the median of how much longer the second took each time."""
    pairs = []
    with torch.set_grad_enabled(gradients):
        for turn in range(TURNS + 5):
            plain = timed(block, states, nullcontext())
            watched = timed(block, states, record(block, "attention.*.weights", **selection))
            if turn >= 5:
                pairs.append((plain, watched))
    ratios = [watched / plain - 1.0 for plain, watched in pairs]
    return (
        statistics.median(plain for plain, _ in pairs),
        statistics.median(watched for _, watched in pairs),
        statistics.median(ratios),
    )


def timed(block: Block, states: Tensor, watching: AbstractContextManager[Any]) -> float:
    with watching:
        start = clock()()
        block(states)
        return clock()() - start


def memory(block: Block) -> None:
    print("\nPeak memory of a forward in evaluation, MB, and what looking adds; all weights of one head for comparison")
    head = ["length", "plain", "8 rows of a head", "64 rows", "512 rows", "one head", "its weights"]
    print("".join(f"{name:>{width}}" for name, width in zip(head, (8, 9, 18, 9, 10, 10, 13), strict=True)))
    for length in (512, 2048, 8192):
        states = torch.randn(1, length, WIDTH)
        plain = peak(lambda states=states: block(states))
        extra = [peak(lambda states=states, rows=rows: watched(block, states, rows)) - plain for rows in (8, 64, 512)]
        whole = peak(lambda states=states: watched(block, states, None)) - plain
        print(
            f"{length:>8}{plain:>9.1f}{extra[0]:>+18.1f}{extra[1]:>+9.1f}{extra[2]:>+10.1f}{whole:>+10.1f}"
            f"{length**2 * 4 / 1e6:>13.1f}"
        )


def watched(block: Block, states: Tensor, rows: int | None) -> None:
    asked = None if rows is None else list(range(rows))
    with record(block, "attention.*.weights", heads=[0], rows=asked):
        block(states)


@torch.no_grad()
def peak(call: Callable[[], object]) -> float:
    """The most megabytes that one call holds at once, from the profiler's log of allocations."""
    call()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        call()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = highest = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        highest = max(highest, held)
    return highest / 1e6


if __name__ == "__main__":
    main()
