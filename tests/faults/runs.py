"""Real trainings in processes of their own, which start at once: they are forked from one that has imported torch."""

import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w
import torch

from regard import api, cli, train
from regard.cli import progress  # noqa: F401  imported before the fork, like all the command needs
from tests.api.toy import recipe

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload([__name__])
torch.set_num_threads(1)

LONGEST = 600.0
UPDATES = 20


def write_plan(folder: Path, model: dict[str, Any], **settings: Any) -> Path:
    """A recipe that saves often, with averages and a moving average to keep in step."""
    often = {"updates": UPDATES, "every": 4, "log": 1, "ema": 0.9, "average": {"what": "best", "count": 3}}
    plan = recipe(folder / "data", model=model, train={**often, **settings})
    (folder / "plan.toml").write_text(tomli_w.dumps(plan), "utf-8")
    return folder / "plan.toml"


class Run:
    """One `regard` with these words, in a process of its own; what it says goes into a file."""

    def __init__(self, told: Path, *words: object, dies_at: tuple[int, str] | None = None) -> None:
        self.told = told
        self.process = context.Process(target=_called, args=([str(word) for word in words], str(told), dies_at))
        self.process.start()

    def ended(self) -> int:
        """Its exit code, minus the signal's number if one killed it."""
        self.process.join(LONGEST)
        assert self.process.exitcode is not None, "it hangs"
        return self.process.exitcode

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def send(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def awaited(self, what: Callable[[], bool]) -> bool:
        """Wait for something to come true; False if the process ended before."""
        began = time.monotonic()
        while not what():
            if not self.process.is_alive():
                return False
            assert time.monotonic() - began < LONGEST, "it hangs"
            time.sleep(0.002)
        return True

    @property
    def words(self) -> str:
        return self.told.read_text("utf-8", "replace")


def finished(told: Path, *words: object) -> float:
    """Let a command come to its end; the seconds it took."""
    began = time.monotonic()
    run = Run(told, *words)
    assert run.ended() == 0, run.words
    return time.monotonic() - began


def _called(words: list[str], told: str, dies_at: tuple[int, str] | None) -> None:
    place = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(place, 1)
    os.dup2(place, 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if dies_at is not None:
        sys.addaudithook(_death(*dies_at))
    sys.argv = ["regard", *words]
    cli.main()


# What touches names on disk, as Python tells it to whoever listens.
TOUCHES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "shutil.rmtree"}


def _death(count: int, folder: str) -> Callable[[str, tuple[Any, ...]], None]:
    """kill -9 of this very process, when it touches something of a folder for the so manieth time."""
    left = count

    def hear(event: str, what: tuple[Any, ...]) -> None:
        nonlocal left
        if event in TOUCHES and str(what[0]).startswith(folder):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return hear


def logged(run: Path) -> int:
    """How many whole lines the log has."""
    log = run / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def evidence(run: Path) -> dict[str, object]:
    """All that two equal runs have alike: the state with the checksums of all tensors, the log, the bundle."""
    last = train.checkpoints.found(run / "checkpoints")[0]
    lines = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    bundle = {name: (run / "bundle" / name).read_bytes() for name in os.listdir(run / "bundle")}
    bundle.pop("manifest.json")
    return {
        "checkpoint": (last.name, (last / "state.json").read_bytes()),
        "intact": train.load(last).update,
        "log": [{name: line[name] for name in line if name not in train.log.CLOCK} for line in lines],
        "bundle": bundle,
    }


def differences(one: Path, other: Path) -> list[str]:
    """What is not alike in two runs, by name."""
    first, second = evidence(one), evidence(other)
    return [name for name in first if first[name] != second[name]]


def moment(draw: random.Random, seconds: float) -> float:
    """An instant of a run that takes so many seconds."""
    return draw.uniform(0.0, seconds)


__all__ = ["UPDATES", "Run", "api", "differences", "evidence", "finished", "logged", "moment", "write_plan"]
