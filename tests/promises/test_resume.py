"""Resumed = never stopped: a small real run, killed at random and resumed, ends as the unbroken one, bit for bit.

Slow, and as a script the same with its figures printed: `python -m tests.promises.test_resume [kills]`.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.bundle import load
from tests.api.toy import recipe

KILLS, INSIDE_A_SAVE = 25, 8
STARTED = 60.0


def command(plan: Path, run: Path, *more: str) -> list[str]:
    call = "import sys; from regard.cli import main; sys.argv[0] = 'regard'; main()"
    return [sys.executable, "-c", call, "train", str(plan), "--out", str(run), *more]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def write_plan(folder: Path) -> Path:
    """A recipe that saves often: every few updates, with averages and a moving average to keep in step."""
    settings = {"updates": 60, "every": 5, "log": 5, "ema": 0.9, "average": {"what": "best", "count": 3}}
    plan = recipe(folder / "data", train=settings)
    import tomli_w

    (folder / "plan.toml").write_text(tomli_w.dumps(plan), "utf-8")
    return folder / "plan.toml"


def finished(plan: Path, run: Path, *more: str) -> None:
    done = subprocess.run(command(plan, run, *more), env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def killed(plan: Path, run: Path, after: float | None) -> str:
    """Start the run, kill it: so many seconds after its first checkpoint, or inside the next save. Where it was."""
    with subprocess.Popen(
        command(plan, run), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            moment = _awaited(run, process, after)
        finally:
            process.send_signal(signal.SIGKILL)
    return moment


def _awaited(run: Path, process: subprocess.Popen[bytes], after: float | None) -> str:
    checkpoints, began = run / "checkpoints", time.monotonic()
    while process.poll() is None and time.monotonic() - began < STARTED:
        saving = checkpoints.is_dir() and any(name.endswith(".part") for name in os.listdir(checkpoints))
        if after is None and saving:
            return "inside a save"
        if after is not None and checkpoints.is_dir() and any(map(str.isdigit, "".join(os.listdir(checkpoints)))):
            time.sleep(after)
            return f"{after:.2f} s after the first checkpoint"
        time.sleep(0.0005)
    return "too late"


def same(whole: Path, other: Path) -> bool:
    """Every byte of the parameters, and all the log says but for the clock."""
    one, two = (load(run / "bundle").parameters for run in (whole, other))
    alike = one.keys() == two.keys() and all(one[name].equal(two[name]) for name in one)
    return alike and _told(whole) == _told(other)


def _told(run: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    return [{name: value for name, value in line.items() if name not in ("seconds", "per_second")} for line in lines]


def kills(folder: Path, count: int, seed: int = 0) -> Iterator[tuple[str, bool]]:
    """Where each kill fell, and whether the resumed run is the unbroken one."""
    plan, draw = write_plan(folder), random.Random(seed)
    finished(plan, folder / "whole")
    for number in range(count):
        run = folder / f"run-{number}"
        moment = killed(plan, run, None if number % 3 == 0 else draw.uniform(0.0, 2.5))
        finished(plan, run, "--resume")
        yield moment, same(folder / "whole", run)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_killed_at_any_instant_and_resumed_a_run_is_the_one_that_never_stopped(tmp_path: Path) -> None:
    ends = list(kills(tmp_path, KILLS))
    assert sum(moment == "inside a save" for moment, _ in ends) >= INSIDE_A_SAVE
    assert all(alike for _, alike in ends), ends


def test_one_kill_inside_a_save_changes_nothing(tmp_path: Path) -> None:
    [(moment, alike)] = kills(tmp_path, 1)
    assert moment == "inside a save"
    assert alike


if __name__ == "__main__":
    import tempfile

    total = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    with tempfile.TemporaryDirectory() as place:
        outcomes = []
        for end in kills(Path(place), total):
            outcomes.append(end)
            print(*end, flush=True)
    inside = sum(moment == "inside a save" for moment, _ in outcomes)
    print(f"{sum(alike for _, alike in outcomes)} of {total} identical, {inside} killed inside a save")
