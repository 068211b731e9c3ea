"""One process and two at the same work for each (weak scaling): seconds of processor and wall for an update.

python benchmarks/scale.py [--width 128] [--layers 2] [--tokens 1500] [--updates 12]

Both processes run on this machine with one thread each; gradients go through gloo over the loopback. Processor seconds
do not count what else the machine does, wall seconds do.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import machine

from regard.api import Training, read
from regard.starter import phrasebook
from regard.train.distributed_gradients import Buckets

WARM = 3


def recipe(data: Path, asked: argparse.Namespace, processes: int) -> dict[str, Any]:
    sides = {part: {"files": {"source": f"{part}.en", "target": f"{part}.de"}} for part in ("train", "valid")}
    return {
        "task": "translation",
        "data": {"root": str(data), **sides},
        "tokenizer": {"size": 800},
        "model": {
            "name": "transformer",
            "width": asked.width,
            "layers": asked.layers,
            "attention": {"heads": 4},
            "feedforward": {"hidden": 4 * asked.width},
        },
        "batches": {"tokens": asked.tokens * processes},
        "train": {"updates": WARM + asked.updates, "every": 10_000},
    }


def measured(data: Path, asked: argparse.Namespace) -> None:
    """The work of one process; the first prints what came of it."""
    processes = int(os.environ["WORLD_SIZE"])
    run = Training(read(recipe(data, asked, processes)), data / f"run-{processes}")
    targets, clocks = 0, (0.0, 0.0)
    for step in run.steps():
        if step.progress.update == WARM:
            clocks = time.process_time(), time.perf_counter()
        elif step.progress.update < WARM + asked.updates:
            targets += step.count
            ended = time.process_time(), time.perf_counter()
    if run.team.leads:
        seconds = [(end - begin) / (asked.updates - 1) for begin, end in zip(clocks, ended, strict=True)]
        parameters = sum(parameter.numel() for parameter in run.model.parameters())
        told = {"parameters": parameters, "gradient_bytes": Buckets(run.model, run.team).bytes}
        told |= {"targets": targets // (asked.updates - 1), "processor": seconds[0], "wall": seconds[1]}
        print(json.dumps({"processes": processes, **told}), flush=True)


def started(data: Path, processes: int) -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    told = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "localhost", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *sys.argv, "--data", str(data)]
    ranks = [subprocess.Popen(command, env={**os.environ, **told, "RANK": str(rank)}) for rank in range(processes)]
    for rank in ranks:
        rank.wait()


def write(data: Path) -> None:
    book = phrasebook("en-de", size=3000, held_out=20)
    for part in ("train", "valid"):
        for column, language in enumerate(("en", "de")):
            lines = "".join(f"{pair[column]}\n" for pair in getattr(book, part))
            (data / f"{part}.{language}").write_text(lines, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    for name, size in (("width", 128), ("layers", 2), ("tokens", 1500), ("updates", 12)):
        parser.add_argument(f"--{name}", type=int, default=size)
    asked = parser.parse_args()
    if asked.data:
        measured(asked.data, asked)
        return
    print(machine())
    with tempfile.TemporaryDirectory() as place:
        write(Path(place))
        for processes in (1, 2):
            started(Path(place), processes)


if __name__ == "__main__":
    main()
