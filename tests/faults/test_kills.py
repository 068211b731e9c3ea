"""kill -9, SIGTERM and SIGINT at any instant of real runs: resumed, they end as the one that never stopped.

The full form: `pytest -m slow tests/faults/test_kills.py`.
"""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.api.toy import RECURRENT, TRANSFORMER
from tests.faults.counted import draws, tries
from tests.faults.runs import UPDATES, Run, differences, finished, logged, write_plan

MODELS = {"transformer": TRANSFORMER, "recurrent": RECURRENT}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)

# Which of ten kills fall inside a save; and how often a run touches its checkpoints at least.
INSIDE, TOUCHES = (0, 3, 6), 60
SECONDS = 5.0


def killed(plan: Path, run: Path, draw: random.Random, seconds: float, inside: bool) -> str:
    """Start or go on with a run and kill it; where that was."""
    words, told = ("train", plan, "--out", run, "--resume"), run.with_suffix(".killed.txt")
    if inside:
        place = draw.randint(1, TOUCHES)
        code = Run(told, *words, dies_at=(place, f"{run}/checkpoints/")).ended()
        return f"inside a save, touch {place}" if code == -signal.SIGKILL else "too late"
    process = Run(told, *words)
    after = draw.uniform(0.0, seconds)
    time.sleep(after)
    process.kill()
    return f"{after:.2f} s after its start"


@every_model
@tries(1, 50)
def test_killed_at_any_instant_and_resumed_a_run_is_the_one_that_never_stopped(
    count: int, model: dict[str, Any], tmp_path: Path
) -> None:
    draw, plan = draws(f"kills {model['name']}"), write_plan(tmp_path, model)
    seconds = finished(tmp_path / "whole.txt", "train", plan, "--out", tmp_path / "whole")
    for number in range(count):
        run = tmp_path / f"run-{number}"
        where = killed(plan, run, draw, seconds, inside=number % 10 in INSIDE)
        finished(run.with_suffix(".txt"), "train", plan, "--out", run, "--resume")
        assert differences(tmp_path / "whole", run) == [], where
        print(f"{model['name']} {number}: killed {where}, identical", flush=True)


@tries(2, 10)
def test_one_run_killed_again_and_again(count: int, tmp_path: Path) -> None:
    draw, plan = draws("again and again"), write_plan(tmp_path, TRANSFORMER)
    seconds = finished(tmp_path / "whole.txt", "train", plan, "--out", tmp_path / "whole")
    for number in range(count):
        killed(plan, tmp_path / "run", draw, seconds, inside=number % 2 == 0)
    finished(tmp_path / "run.txt", "train", plan, "--out", tmp_path / "run", "--resume")
    assert differences(tmp_path / "whole", tmp_path / "run") == []


@tries(2, 40)
def test_asked_to_stop_a_run_saves_at_once_and_goes_on_as_if_it_had_not(count: int, tmp_path: Path) -> None:
    """SIGTERM and SIGINT in turn."""
    draw, plan = draws("signals"), write_plan(tmp_path, TRANSFORMER)
    finished(tmp_path / "whole.txt", "train", plan, "--out", tmp_path / "whole")
    for number in range(count):
        run, asked = tmp_path / f"run-{number}", (signal.SIGTERM, signal.SIGINT)[number % 2]
        process, wanted = Run(run.with_suffix(".killed.txt"), "train", plan, "--out", run), draw.randrange(2, UPDATES)
        assert process.awaited(lambda run=run, wanted=wanted: logged(run) >= wanted), process.words
        began = time.monotonic()
        process.send(asked)
        code = process.ended()
        seconds = time.monotonic() - began
        assert code in (128 + asked, 0), process.words
        assert code == 0 or "all of it is saved" in process.words, process.words
        assert seconds < SECONDS * busy(), process.words
        finished(run.with_suffix(".txt"), "train", plan, "--out", run, "--resume")
        assert differences(tmp_path / "whole", run) == [], (asked, wanted)
        print(f"{asked.name} after {wanted} lines: exit {code} in {seconds:.2f} s, identical", flush=True)


def busy() -> float:
    """How many times slower than alone this machine is now."""
    return max(1.0, 2.0 * os.getloadavg()[0] / (os.cpu_count() or 1))
