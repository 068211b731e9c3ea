"""What each process of a distributed test does; `ranks` starts them."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from regard.api import Training, read
from regard.data import Batch
from regard.train.distributed import Spare
from tests.api.toy import TRANSFORMER, recipe

SECONDS = 300
# Some batches have one row, so that of two processes one gets none.
PLAN: dict[str, Any] = {
    "model": {**TRANSFORMER, "dropout": 0.0, "embedding": {"dropout": 0.0}, "tied": "all"},
    "batches": {"tokens": 110},
    "loss": {"smoothing": 0.1},
    "train": {"updates": 6, "every": 3, "log": 1, "accumulate": 2, "clip": 0.5},
    "validation": {"metrics": ["bleu", "chrf"], "lines": 5, "search": {"method": "greedy", "longest_extra": 2}},
    "metrics": ["bleu"],
}
# Quicker: larger batches, more dropout, nothing searched.
QUICK = {name: PLAN[name] for name in ("loss", "train", "metrics")} | {
    "model": {**TRANSFORMER, "dropout": 0.3},
    "batches": {"tokens": 1500, "rows": 33},
}
TWICE = {**QUICK, "train": {"epochs": 2, "every": 5, "accumulate": 2}}
EIGHT = {**QUICK, "train": {"updates": 8, "every": 2, "log": 1}}


class Noting(Training):
    """A run that notes which examples were counted in which batch, in a file for each process."""

    seen: list[int]

    def tensors(self, examples: Any, batch: Batch) -> Any:
        self.seen = batch.examples.tolist()
        return super().tensors(examples, batch)

    def part(self, batch: Batch) -> Any:
        found = super().part(batch)
        if not isinstance(found, Spare):
            with open(self.folder / f"seen-{self.team.size}-{self.team.rank}.jsonl", "a") as file:
                file.write(json.dumps([tuple(batch.next.model_dump().values()), self.seen]) + "\n")
        return found


def made(folder: Path, data: Path, plan: dict[str, Any], kind: type[Training] = Training) -> Training:
    """A run as far as it goes, resumed if it was begun."""
    training = kind(read(recipe(data, **plan)), folder, folder.exists())
    for _ in training.steps():
        pass
    return training


def stopped(folder: Path, data: Path, plan: dict[str, Any], update: int, kind: type[Training] = Training) -> None:
    """A run, resumed if it was begun, that is asked to stop after an update: one process hears it, all do it."""
    training = kind(read(recipe(data, **plan)), folder, folder.exists())
    hears = training.team.rank == training.team.size - 1
    done = 0

    def stop() -> bool:
        return hears and done + 1 >= update

    for step in training.steps(stop):
        done = step.progress.update
        assert done <= update, f"update {done} after a stop at {update}"


@contextmanager
def double() -> Iterator[None]:
    """Inside, models are made in float64."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def split(folder: Path, data: Path) -> None:
    """The run that one process and several make alike."""
    with double():
        made(folder, data, PLAN).finish()


def sharded(folder: Path, data: Path) -> None:
    """The run `split` begun as ddp, gone on with as fsdp, its layers computed twice."""
    with double():
        stopped(folder, data, PLAN, 2)
        made(folder, data, {**PLAN, "train": {**PLAN["train"], "parallel": "fsdp", "recompute": True}}).finish()


def in_parts(plan: dict[str, Any]) -> dict[str, Any]:
    """The same run, its model and its checkpoints in parts."""
    return {**plan, "train": {**plan["train"], "parallel": "fsdp", "sharded": True}}


def begun_in_parts(folder: Path, data: Path) -> None:
    """Two runs left at a checkpoint in parts."""
    with double():
        stopped(folder / "parts", data, in_parts(PLAN), 2)
    stopped(folder / "seen-parts", data, in_parts(TWICE), 2, Noting)


def ended_in_parts(folder: Path, data: Path) -> None:
    """The same two gone on with."""
    with double():
        made(folder / "parts", data, in_parts(PLAN)).finish()
    made(folder / "seen-parts", data, in_parts(TWICE), Noting)


def ranks(folder: Path, play: str = "first", size: int = 2) -> list[str]:
    """Run this file as several processes; what each wrote. Without torchrun, whose import is one more torch."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    told = {"WORLD_SIZE": str(size), "MASTER_ADDR": "localhost", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.train.distributed_ranks", str(folder), play]
    started = [
        subprocess.Popen(
            command,
            env={**os.environ, **told, "RANK": str(rank)},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        outputs = [process.communicate(timeout=SECONDS)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0] * size, "\n".join(outputs)
    return outputs


def talk(folder: Path) -> None:
    """What processes tell one another, as each came to know it."""
    from regard.errors import DataError
    from regard.train.distributed import joined

    team = joined(torch.device("cpu"), seed=3)
    team.reseed(7)
    known: dict[str, Any] = {
        "sum": team.sum([1.0, float(team.rank)]),
        "most": team.most(10 - team.rank),
        "whole": team.whole([f"ä{number}" for number in team.own(range(5))]),
        "drawn": float(torch.rand(())),
    }
    try:
        team.agree({"torch": "2", "update": team.rank})
    except DataError as error:
        known["disagreed"] = str(error)
    (folder / f"known-{team.rank}.json").write_text(json.dumps(known))


def main(folder: Path, play: str) -> None:
    data = folder / "data"
    if play == "parts":
        ended_in_parts(folder, data)
        return
    scenes: list[Callable[[], object]] = [
        lambda: talk(folder),
        lambda: split(folder / "split", data),
        lambda: sharded(folder / "sharded", data),
        lambda: made(folder / "unbroken", data, EIGHT),
        lambda: stopped(folder / "resumed", data, EIGHT, 3),
        lambda: made(folder / "resumed", data, EIGHT),
        lambda: stopped(folder / "seen", data, TWICE, 5, Noting),
        lambda: begun_in_parts(folder, data),
    ]
    for scene in scenes:
        scene()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]), sys.argv[2])
