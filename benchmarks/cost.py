"""What the tool itself costs: seconds of the wall from the command to one prediction, and to training's first update.

python benchmarks/cost.py BUNDLE [--recipe FILE --root DIR] [--rounds N]

BUNDLE is a translator; one sentence is predicted by a process of its own, by turns with `import torch` alone. FILE is a
recipe (recipes/multi30k-en-de.toml) and DIR where its data lie: a run is started once so that everything is prepared,
stopped after its first update, and started again in the same folder, timed until that update is logged. The imports
that took longest are told, torch's in one. Python may keep what it compiled, as it does unless told otherwise.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

SENTENCE = "A man rides a bicycle through the park."
GOALS = {"predict": 4.0, "train": 5.0}
LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)")
PATIENCE = 600


class Took(NamedTuple):
    """Seconds of the wall, and of the processor, which other work on the machine does not lengthen."""

    wall: float
    processor: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.processor:.2f} s of the processor)"


def seconds(command: list[str], given: str = "") -> Took:
    began, before = time.perf_counter(), used()
    subprocess.run(command, input=given, check=True, capture_output=True, text=True)
    return Took(time.perf_counter() - began, used() - before)


def used() -> float:
    """Seconds of the processor of all processes that were started and have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def predicting(bundle: str) -> list[str]:
    return [sys.executable, "-m", "regard", "predict", bundle, "-"]


def predictions(bundle: str, rounds: int) -> None:
    ours, torch = [], []
    for _ in range(rounds):
        torch.append(seconds([sys.executable, "-c", "import torch"]))
        ours.append(seconds(predicting(bundle), SENTENCE + "\n"))
    print(f"regard predict, one sentence: {min(ours)}   goal: below {GOALS['predict']:.0f} s")
    share = min(one.processor for one in torch) / min(one.processor for one in ours)
    print(f"  import torch alone: {min(torch)}, {share:.0%} of it")


def imports(bundle: str, most: int = 12) -> None:
    """The packages whose own modules took longest to import."""
    command = [sys.executable, "-X", "importtime", *predicting(bundle)[1:]]
    told = subprocess.run(command, input=SENTENCE + "\n", check=True, capture_output=True, text=True).stderr
    own: dict[str, int] = {}
    for micro, _, _, name in LINE.findall(told):
        package = name.split(".")[0]
        own[package] = own.get(package, 0) + int(micro)
    print(f"  imports, {sum(own.values()) / 1e6:.2f} s in all while they are watched, by package:")
    for package, micro in sorted(own.items(), key=lambda one: -one[1])[:most]:
        print(f"    {package:<20} {micro / 1e6:6.2f} s")


def first_update(recipe: str, root: str, folder: Path) -> Took:
    """How long until a run in this folder has logged its first update; it is stopped then."""
    changes = ["--set", f"data.root={root}", "--set", "train.log=1"]
    command = [sys.executable, "-m", "regard", "train", recipe, "--out", str(folder), *changes]
    began, before, log = time.perf_counter(), used(), folder / "log.jsonl"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not logged(log):
            if process.poll() is not None or time.perf_counter() - began > PATIENCE:
                raise SystemExit(f"There is no update: {' '.join(command)}")
            time.sleep(0.02)
        wall = time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return Took(wall, used() - before)


def logged(log: Path) -> bool:
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    return any("update" in json.loads(line) for line in lines if line.endswith("}"))


def updates(recipe: str, root: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        unprepared, found = first_update(recipe, root, folder), []
        for _ in range(rounds):
            (folder / "log.jsonl").unlink()
            shutil.rmtree(folder / "checkpoints", ignore_errors=True)
            found.append(first_update(recipe, root, folder))
    print(f"regard train, first update: {min(found)}, data prepared   goal: within {GOALS['train']:.0f} s")
    print(f"  nothing prepared: {unprepared}")


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--recipe")
    parser.add_argument("--root", default=".")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    predictions(given.bundle, given.rounds)
    imports(given.bundle)
    if given.recipe:
        updates(given.recipe, given.root, given.rounds)


if __name__ == "__main__":
    main()
