"""An hour of training and an hour of predicting: memory stays where it is.

`make soak`, or for two minutes `FAULT_MINUTES=2 pytest -m soak tests/faults/test_soak.py`.
"""

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard import api
from regard.api import Training, read
from regard.train.allocation import resident
from tests.api.toy import recipe
from tests.faults.counted import draws

GOLDEN = Path(__file__).parents[1] / "golden" / "bundle-1"
MINUTES = float(os.environ.get("FAULT_MINUTES", "60"))
# What may be added to memory every thousand steps, and the steps until everything there is has been made once.
MOST, WARM = 2**20, 200


def growth(steps: Iterator[object]) -> tuple[int, float]:
    """How many steps were made in the time there was, and the bytes that memory grew by every thousand of them."""
    began, seen = time.monotonic(), []
    for number, _ in enumerate(steps):
        if number % 20 == 0:
            seen.append((number, resident()))
        if time.monotonic() - began > 60.0 * MINUTES:
            break
    warm = [(number, size) for number, size in seen if number >= min(WARM, seen[-1][0] // 3)]
    return seen[-1][0], 1000.0 * slope(warm)


def slope(points: list[tuple[int, int]]) -> float:
    """The least squares' rise per step."""
    steps, sizes = zip(*points, strict=True)
    middle, level = sum(steps) / len(steps), sum(sizes) / len(sizes)
    rise = sum((step - middle) * (size - level) for step, size in points)
    return rise / max(sum((step - middle) ** 2 for step in steps), 1.0)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_training_for_an_hour_takes_no_more_memory(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 10**7, "every": 100, "log": 10})
    made, grown = growth(Training(read(plan), tmp_path / "run").steps())
    print(f"{made:,} updates in {MINUTES:g} minutes: {grown / 2**20:+.3f} MB every 1,000")
    assert grown < MOST


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_predicting_for_an_hour_takes_no_more_memory() -> None:
    pipeline, draw = api.load(GOLDEN), draws("soak")
    words = ["the", "dog", "cat", "runs", "sees", "red", "北京", "", "?"]
    texts = (" ".join(draw.choices(words, k=draw.randint(0, 12))) for _ in itertools.count())
    made, grown = growth(pipeline.predict([text]) for text in texts)
    print(f"{made:,} predictions in {MINUTES:g} minutes: {grown / 2**20:+.3f} MB every 1,000")
    assert grown < MOST


def test_a_leak_would_be_seen() -> None:
    assert slope([(step, 10**8 + 2000 * step) for step in range(0, 1000, 20)]) == pytest.approx(2000.0)
