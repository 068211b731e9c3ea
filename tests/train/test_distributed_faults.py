"""Processes of a real `regard train --processes 2` are killed, many times; once is in `test_distributed`.

`python -m tests.train.test_distributed_faults [kills]` prints the figures.
"""

import random
import sys
import time
from pathlib import Path

import pytest

from tests.train.distributed_runs import same, trained, write_plan

KILLS, ALLOWED = 20, 30.0


def killings(folder: Path, kills: int) -> list[tuple[bool, float]]:
    """A run each whose process dies at random and which restarts: whether it ends as the unbroken one, in what time."""
    luck, outcomes = random.Random(0), []
    assert trained(folder, folder / "whole").returncode == 0
    for number in range(kills):
        run, killed = folder / f"run-{number}", f"{luck.randrange(2)}:0:{luck.randint(2, 8)}"
        began = time.monotonic()
        done = trained(folder, run, "--restarts", "1", killed=killed)
        alike = done.returncode == 0 and same(run, folder / "whole")
        outcomes.append((alike, time.monotonic() - began))
        print(f"killed {killed}: {'the same' if alike else done.stderr} in {outcomes[-1][1]:.1f} s", flush=True)
    return outcomes


def fall(folder: Path) -> float:
    """Seconds from the death of one process to the end of the command."""
    dying = trained(folder, folder / "fall", killed="1:0:8")
    ended = time.time()
    assert dying.returncode == 1
    return ended - max(path.stat().st_mtime for path in (folder / "fall").rglob("*"))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_of_twenty_runs_killed_at_random_all_go_on_bit_for_bit(tmp_path: Path) -> None:
    write_plan(tmp_path)
    assert [alike for alike, _ in killings(tmp_path, KILLS)] == [True] * KILLS


@pytest.mark.slow
def test_a_run_is_over_within_half_a_minute_of_a_death(tmp_path: Path) -> None:
    write_plan(tmp_path)
    assert fall(tmp_path) < ALLOWED


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        write_plan(Path(place))
        print(f"over {fall(Path(place)):.1f} s after the death of one process")
        found = killings(Path(place), int(sys.argv[1]) if len(sys.argv) > 1 else KILLS)
        print(f"{sum(alike for alike, _ in found)} of {len(found)} the same")
