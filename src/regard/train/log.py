"""What a run did, one JSON object a line, the same after any number of kills apart from the clock.

    {"kind": "train", "update": 50, "epoch": 0, "loss": 5.1, "rate": 0.001, "norm": 1.3, "targets": 4096, ...}
    {"kind": "valid", "update": 500, "epoch": 2, "scores": {"loss": 2.7, "bleu": 31.0}, "best": true, "seconds": 71.2}

Write a step to the log before saving its checkpoint: then the lines up to any checkpoint are all there.
"""

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from regard.errors import DataError
from regard.files import require_file, shown, write_atomically
from regard.train.pace import Pace
from regard.train.progress import Step

Line: TypeAlias = dict[str, Any]
# What a run that was stopped and resumed tells otherwise than one that was not.
CLOCK = frozenset({"seconds", "per_second"})


class Log:
    """The log of a run: `resume` where it goes on, then `write` every step."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._clock = clock
        self._pace: Pace | None = None
        self._earlier = 0.0

    def resume(self, update: int) -> list[Line]:
        """Drop every line after this update, and a torn one; the lines that stay."""
        lines = [line for line in read(self.path) if line["update"] <= update] if self.path.exists() else []
        self._earlier = max((line["seconds"] for line in lines), default=0.0)
        self._pace = Pace(clock=self._clock)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(self.path) as file:
            file.write(b"".join(map(_encoded, lines)))
        return lines

    def write(self, step: Step) -> list[Line]:
        """Note a step: a line when an interval ends, a line when it was evaluated. The lines written."""
        if self._pace is None:
            self.resume(step.progress.update - 1)
        pace = self._pace or Pace(clock=self._clock)
        pace.add(step.count)
        clock = {"seconds": round(self._earlier + pace.seconds, 3), "per_second": round(pace.per_second, 1)}
        lines = [_plain({**line, **clock}) for line in (_training(step), _evaluation(step)) if line]
        if lines:
            self._append(b"".join(map(_encoded, lines)))
        return lines

    def _append(self, data: bytes) -> None:
        try:
            with open(self.path, "ab") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(f"Cannot write {shown(self.path)}: {error.strerror}.") from error


def read(path: Path) -> list[Line]:
    """The lines of a log; a last line that a kill has torn does not count."""
    require_file(path)
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    rows = whole.split(b"\n") if whole else []
    return [_line(row, f"{shown(path)} line {number}") for number, row in enumerate(rows, 1)]


def _training(step: Step) -> Line | None:
    if step.recent is None:
        return None
    return {
        "kind": "train",
        **_place(step),
        "loss": step.recent,
        "rate": step.rate,
        "norm": step.norm,
        "targets": step.count,
        "skipped": step.progress.skipped,
        "overflowed": step.progress.overflowed,
    }


def _evaluation(step: Step) -> Line | None:
    if step.scores is None:
        return None
    return {"kind": "valid", **_place(step), "scores": dict(step.scores), "best": step.best}


def _place(step: Step) -> Line:
    return {"update": step.progress.update, "epoch": step.progress.epoch}


def _plain(line: Mapping[str, Any]) -> Line:
    """With null for what JSON has no number for."""
    return {name: _number(value) for name, value in line.items()}


def _number(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _encoded(line: Line) -> bytes:
    return json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _line(row: bytes, place: str) -> Line:
    try:
        line = json.loads(row)
    except (ValueError, RecursionError):
        line = None
    if not isinstance(line, dict) or not {"kind", "update", "seconds"} <= line.keys():
        raise DataError(f"{place} is no line of a training log.")
    return line
