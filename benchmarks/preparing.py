"""Preparing sentence pairs as `regard train` does: rate, memory, cores, kills; and `tokenizers` alone beside it.

python benchmarks/preparing.py [--pairs 200000] [--processes 2] [--folder FOLDER] [--kills 1] [--again]

Pairs are made of the starter's sentences, two to a line, and kept in FOLDER; when the command is broken off, the same
one goes on. `--kills` kills the preparation (SIGKILL) so many times on its way; `--again` prepares a second time from
nothing and compares every byte. Memory is that of all processes together, what they share counted once.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from machine import machine

from regard.files import checksum, lines, write_atomically
from regard.starter import phrasebook

BOOK, BLOCK, SAMPLE = 20_000, 8192, 200_000
DATA = ("pieces.bin", "offsets.bin", "lengths.bin", "manifest.json")


def recipe(folder: Path) -> dict[str, Any]:
    sides = {part: {"files": {"source": f"{part}.en", "target": f"{part}.de"}} for part in ("train", "valid")}
    return {
        "task": "translation",
        "data": {"root": str(folder), **sides},
        "tokenizer": {"size": 8000},
        "model": {"name": "transformer", "width": 64, "layers": 1, "attention": {"heads": 2}},
        "batches": {"tokens": 4096},
        "train": {"updates": 100},
    }


def write(folder: Path, pairs: int) -> None:
    """The texts, unless they are there: two sentences of the phrasebook to a line, none twice for a long time."""
    told = folder / "texts.json"
    if told.is_file() and json.loads(told.read_text()) == pairs:
        return
    book = phrasebook("en-de", size=BOOK, held_out=200)
    for column, language in enumerate(("en", "de")):
        with write_atomically(folder / f"train.{language}") as file:
            for first, second in chosen(pairs):
                file.write(f"{book.train[first][column]} {book.train[second][column]}\n".encode())
        valid = "".join(f"{pair[column]}\n" for pair in book.valid)
        (folder / f"valid.{language}").write_text(valid, "utf-8")
    told.write_text(json.dumps(pairs))


def chosen(pairs: int) -> Iterator[tuple[int, int]]:
    """Which two sentences make a line: every second one in turn for every first one, by another step each time."""
    for number in range(pairs):
        turn, first = divmod(number, BOOK)
        yield first, (first * 7919 + turn * 104_729 + 1) % BOOK


def prepare(run: Path, pairs: int, processes: int) -> None:
    """What `regard train` does before its first update."""
    from regard.api import Training, read

    training = Training(read(recipe(run.parent)), run, True, lambda text: print(text, flush=True), processes)
    run.mkdir(exist_ok=True)
    began = time.perf_counter()
    _ = training.task
    learned = time.perf_counter() - began
    left, began, before = pairs - journaled(run), time.perf_counter(), processor()
    _ = training.stores
    seconds, used = time.perf_counter() - began, processor() - before
    told = {"learned": learned, "left": left, "seconds": seconds, "processor": used}
    (run / "told.json.part").write_text(json.dumps(told))
    (run / "told.json.part").rename(run.parent / f"{run.name}.told")


def step(run: Path, began: float) -> None:
    """The first update, and how long after the start of the process it came."""
    from regard.api import Training, read

    for _ in Training(read(recipe(run.parent)), run, True).steps():
        seconds = f"{time.time() - began:9.1f} s after the start ({processor():.1f} of processor), imports included"
        print(f"first update    {seconds}; {memory(os.getpid()):.0f} MB")
        return


def alone(run: Path) -> None:
    """`tokenizers` alone, which takes all cores by itself, on lines of the same text."""
    from regard.text import restored

    library = restored((run / "tokenizer.json").read_text("utf-8"), "tokenizer.json")._cutter
    ends = (run.parent / f"train.{end}" for end in ("en", "de"))
    sides = [[line.text for line in islice(lines(end), SAMPLE)] for end in ends]
    began, before = time.perf_counter(), processor()
    for side in sides:
        for start in range(0, len(side), BLOCK):
            for encoding in library.encode_batch(side[start : start + BLOCK], add_special_tokens=False):
                _ = encoding.ids
    rate("tokenizers", len(sides[0]), time.perf_counter() - began, processor() - before)


def watched(run: Path, asked: argparse.Namespace, kills: int) -> None:
    """Prepare in a process of its own, kill it on its way, and say what it took."""
    most, goals = 0.0, [asked.pairs * number // (kills + 1) for number in range(1, kills + 1)]
    began = time.perf_counter()
    while not (told := run.parent / f"{run.name}.told").exists():
        child = subprocess.Popen([sys.executable, __file__, "--run", str(run), *sys.argv[1:]])
        while child.poll() is None:
            most = max(most, memory(child.pid))
            if goals and journaled(run) >= goals[0]:
                print(f"killed          {goals.pop(0):9,} pairs or more were prepared")
                child.send_signal(signal.SIGKILL)
            time.sleep(0.2)
        if child.returncode not in (0, -signal.SIGKILL):
            sys.exit(child.returncode)
    found = json.loads(told.read_text())
    print(f"tokenizer       {found['learned']:9.1f} s to learn or load")
    rate("prepared", found["left"], found["seconds"], found["processor"])
    print(f"in all          {time.perf_counter() - began:9.1f} s, {most:.0f} MB at most")


def rate(what: str, pairs: int, seconds: float, used: float) -> None:
    told = (
        f"{pairs / seconds:9,.0f} pairs/s; {1e6 * used / pairs:4.0f} us of processor a pair, {used / seconds:.2f} cores"
    )
    print(f"{what:15} {told}", flush=True)


def processor() -> float:
    """Seconds of processor of this process and of those it has waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def journaled(run: Path) -> int:
    """How many pairs are safe on disk."""
    with suppress(OSError, ValueError, LookupError):
        return int(json.loads((run / "data" / ".train-0.work" / "building" / "journal.json").read_text())["done"][1])
    return 0


def memory(pid: int) -> float:
    """Megabytes of a process and its children, a page that several share counted once."""
    total = 0.0
    for each in [pid, *children(pid)]:
        with suppress(OSError, StopIteration):
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1024
    return total


def children(pid: int) -> list[int]:
    with suppress(OSError):
        own = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return own + [inner for one in own for inner in children(one)]
    return []


def same(one: Path, other: Path) -> bool:
    places = [Path("data", part, name) for part in ("train-0", "valid") for name in DATA]
    return all(checksum(one / place) == checksum(other / place) for place in places)


def measure(folder: Path, asked: argparse.Namespace) -> None:
    began = time.perf_counter()
    write(folder, asked.pairs)
    print(f"written         {time.perf_counter() - began:9.1f} s for {asked.pairs:,} pairs")
    watched(folder / "run", asked, asked.kills)
    for what in ("--alone", "--step"):
        words = [sys.executable, __file__, "--run", str(folder / "run"), what]
        subprocess.run(words, check=True, env={**os.environ, "BEGAN": str(time.time())})
    if asked.again:
        shutil.rmtree(folder / "again", ignore_errors=True)
        (folder / "again.told").unlink(missing_ok=True)
        watched(folder / "again", asked, 0)
        print(f"twice           {'the same bytes' if same(folder / 'run', folder / 'again') else 'OTHER BYTES'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("pairs", 200_000), ("processes", len(os.sched_getaffinity(0))), ("kills", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    for hidden in ("--alone", "--step"):
        parser.add_argument(hidden, action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.alone:
        alone(asked.run)
    elif asked.step:
        step(asked.run, float(os.environ["BEGAN"]))
    elif asked.run:
        prepare(asked.run, asked.pairs, asked.processes)
    else:
        print(machine())
        with tempfile.TemporaryDirectory() as place:
            folder = asked.folder or Path(place)
            folder.mkdir(parents=True, exist_ok=True)
            measure(folder, asked)


if __name__ == "__main__":
    main()
