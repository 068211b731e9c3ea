"""Real `regard train --processes 2`, in which processes can be killed at a given update."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomli_w

from regard.train import newest
from tests.api.toy import recipe
from tests.train.distributed_ranks import EIGHT, SECONDS

# Parts of one's own are run in every process; this one kills the process it is told to, before an update.
KILLER = """
import os, signal
from regard.attention.scores import SCORES as KNOWN
from regard.train import updating

update = updating.Updater.update

def deadly(self, group, progress):
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if f"{os.environ['RANK']}:{attempt}:{progress.update + 1}" in os.environ.get("KILLED", "").split(","):
        os.kill(os.getpid(), signal.SIGKILL)
    return update(self, group, progress)

updating.Updater.update = deadly

class Own(KNOWN["scaled_dot"]):
    "A part, since a file must have one."

SCORES = {"own": Own}
"""


def trained(folder: Path, run: Path, *more: str, killed: str = "") -> subprocess.CompletedProcess[str]:
    """`regard train --processes 2`; `killed` names rank:attempt:update."""
    words = [sys.executable, "-m", "regard", "train", str(folder / "plan.toml"), "--out", str(run), "--json"]
    return subprocess.run(
        [*words, "--extend", str(folder / "killer.py"), "--processes", "2", *more],
        env={**os.environ, "OMP_NUM_THREADS": "1", "KILLED": killed},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def write_plan(folder: Path) -> None:
    (folder / "plan.toml").write_text(tomli_w.dumps(recipe(folder / "data", **EIGHT)), "utf-8")
    (folder / "killer.py").write_text(KILLER, "utf-8")


def state(run: Path) -> dict[str, Any]:
    """Everything of the newest checkpoint but the clock."""
    stored, troubles = newest(run / "checkpoints")
    assert stored is not None
    assert not troubles
    return {f"{group}.{name}": tensor for group, tensors in stored.tensors.items() for name, tensor in tensors.items()}


def same(one: Path, two: Path) -> bool:
    here, there = state(one), state(two)
    return here.keys() == there.keys() and all(here[name].equal(there[name]) for name in here)


def told(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]
