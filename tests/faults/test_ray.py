"""Prediction spread over a real Ray on this machine: whoever is killed, every line is answered once and in order."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.api.parts import Done, Part, Work
from regard.cli.spread import Job
from tests.cli.toy import regard

BUNDLE = Path(__file__).parents[1] / "golden" / "bundle-1"
WORDS = ["a", "two", "dog", "dogs", "run", "runs", "fast", "man", "walks", "the"]
GIVEN = [" ".join(WORDS[(number * step) % 10] for step in range(1, 4)).encode() for number in range(20)]
SIZE = 2
# Whoever loads the model while the file is there removes it and dies of kill -9.
EXTENSION = """
import os, pathlib
from regard.attention.scores import SCORES as KNOWN

SCORES = {{"own": type("Own", (KNOWN["scaled_dot"],), {{"__doc__": "A part, since a file must have one."}})}}
victim = pathlib.Path({victim!r})
if victim.exists():
    victim.unlink()
    os.kill(os.getpid(), 9)
"""
DRIVER = f"""
import json, pathlib, sys
from regard.cli.spread import Job, on_ray
sys.exit(on_ray(Job(**json.loads(sys.argv[1])[0]), "-", pathlib.Path(sys.argv[2]), {SIZE}))
"""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    path = tmp_path / "mine.py"
    path.write_text(EXTENSION.format(victim=str(tmp_path / "victim")), "utf-8")
    return Job([str(BUNDLE)], ["search.beams=1"], [str(path)], "torch", "", False, False)


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    """A driver that is killed cannot remove the folder of its Ray."""
    before = set(Path("/tmp").glob("ray-*"))
    yield
    for folder in set(Path("/tmp").glob("ray-*")) - before:
        assert gone(folder)
        subprocess.run(["rm", "-r", str(folder)], check=True)


@pytest.mark.timeout(900)
def test_a_killed_driver_and_a_killed_worker_change_no_line(job: Job, tmp_path: Path) -> None:
    text, out = tmp_path / "in.txt", tmp_path / "out.txt"
    text.write_bytes(b"\n".join(GIVEN))
    plain = regard("predict", BUNDLE, text, "--set", "search.beams=1").stdout_bytes.splitlines()
    part = killed(job, out)
    # What was kept is not made again: this could not be made at all.
    with (work := Work(out, job.identity())).claim:
        work.keep(part, Done(b"kept\nkept\n", {"count": 2, "statuses": {}, "faults": []}))
    (tmp_path / "victim").touch()
    again = driven(job, out, text)
    assert (again.returncode, again.stdout) == (0, b"")
    # The summary, and not a word of Ray's.
    assert b" of 20 stopped at the length limit" in again.stderr
    assert again.stderr.count(b"\n") == 1
    assert not (tmp_path / "victim").exists()
    plain[part.first - 1 : part.first - 1 + SIZE] = [b"kept"] * SIZE
    assert out.read_bytes().splitlines() == plain
    assert not Path(f"{out}.parts").exists()


def killed(job: Job, out: Path) -> Part:
    """A part of what a driver left that was killed while the end of its input was still to come."""
    words = [sys.executable, "-c", DRIVER, job.text(), str(out)]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as driver:
        assert driver.stdin is not None
        driver.stdin.write(b"\n".join(GIVEN[:16]) + b"\n")
        driver.stdin.flush()
        while not (there := sorted(Path(f"{out}.parts").glob("0*"))):
            assert driver.poll() is None
            time.sleep(0.1)
        driver.kill()
    number = int(there[0].name.rpartition("-")[2])
    part = Part(0, number, "standard input", number * SIZE + 1, GIVEN[number * SIZE :][:SIZE])
    with (work := Work(out, job.identity())).claim:
        assert work.kept(part) is not None
    return part


def driven(job: Job, out: Path, text: Path) -> "subprocess.CompletedProcess[bytes]":
    with text.open("rb") as given:
        words = [sys.executable, "-c", DRIVER, job.text(), str(out)]
        return subprocess.run(words, stdin=given, capture_output=True, check=False)


def gone(folder: Path, seconds: float = 60.0) -> bool:
    """Whether every process of a Ray ended by itself."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(str(folder).encode() in content for content in commands()):
            return True
        time.sleep(0.2)
    return False


def commands() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes()
        except OSError:
            continue
