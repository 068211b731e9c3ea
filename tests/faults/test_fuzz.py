"""Command lines, recipes and data files that make no sense: an exit code of 0, 1 or 2, a sentence, never a traceback.

The full form: `pytest -m slow tests/faults/test_fuzz.py`.
"""

import io
import os
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from regard.cli import main
from tests.faults.counted import bounded, draws, tries
from tests.faults.fuzzing import Fuzz, Try

GOLDEN = Path(__file__).parents[1] / "golden" / "bundle-1"
ROOM, LONGEST = 2048, 120


class Hang(BaseException):
    """Not an Exception: nothing may take it for an error of its own."""


@contextmanager
def alarm(seconds: int) -> Iterator[None]:
    """Inside, what takes longer ends with an error: it hangs."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def called(given: Try, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """The exit code and all that was said; 70 for a traceback."""
    out, complaint = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.given), "utf-8"))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", complaint)
    monkeypatch.setattr(sys, "argv", ["regard", *given.words])
    try:
        with bounded(ROOM), alarm(LONGEST):
            main()
        code = 0
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    except BaseException:
        return 70, traceback.format_exc()
    out.flush(), complaint.flush()
    return code, (out.buffer.getvalue() + complaint.buffer.getvalue()).decode("utf-8", "replace")


def recipes(given: Try) -> str:
    """The recipes it names, as they are now; the next try writes others."""
    return "".join(f"{Path(word).read_text()}\n" for word in given.words if word.endswith("fuzzed.toml"))


@tries(300, 10_000)
def test_whatever_is_typed_gets_an_exit_code_and_no_traceback(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fuzz, codes, failed = Fuzz(tmp_path, GOLDEN, draws("fuzz")), Counter[str](), []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for number in range(count):
        given = fuzz.one()
        with monkeypatch.context() as inside:
            code, told = called(given, inside)
        codes[f"{given.kind}: {code}"] += 1
        if code not in (0, 1, 2) or "Traceback" in told:
            failed.append(f"{number} {given.words!r:.300}\n{recipes(given)}{told[-1500:]}")
            print(failed[-1], flush=True)
    print(dict(codes))
    assert not failed, f"{len(failed)} of {count}:\n" + "\n".join(failed[:40])


@tries(3, 200)
def test_a_real_process_does_the_same(count: int, tmp_path: Path) -> None:
    fuzz = Fuzz(tmp_path, GOLDEN, draws("processes"))
    for _ in range(count):
        given = fuzz.one()
        words = [os.fsencode(word.replace("\0", "")) for word in given.words]
        done = subprocess.run(
            [sys.executable, "-m", "regard", *words],
            input=given.given,
            cwd=tmp_path,
            capture_output=True,
            timeout=600,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode in (0, 1, 2), (given, done.stderr[-2000:])
        assert b"Traceback" not in done.stderr, (given, done.stderr[-2000:])
