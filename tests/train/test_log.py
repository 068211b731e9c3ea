"""The log: what its lines say, and that a kill leaves no trace in it."""

import json
import math
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import DataError
from regard.train import FitSettings, Log, Progress, Step, fit
from regard.train.log import CLOCK, read
from tests.train import toy

SETTINGS = FitSettings(updates=12, every=6, log=4)


@cache
def steps() -> list[Step]:
    taught = toy.learner()
    return list(fit(taught, toy.batches((0, 0)), lambda: toy.validation(taught), SETTINGS))


def written(path: Path, made: list[Step]) -> list[dict]:
    log = Log(path, clock=count(0.0).__next__)
    log.resume(0)
    for step in made:
        log.write(step)
    return read(path)


def timeless(lines: list[dict]) -> list[dict]:
    return [{name: value for name, value in line.items() if name not in CLOCK} for line in lines]


def test_a_line_for_every_interval_and_every_evaluation(tmp_path: Path) -> None:
    made = steps()
    lines = written(tmp_path / "log.jsonl", made)
    assert [(line["kind"], line["update"]) for line in lines] == [
        ("train", 4),
        ("valid", 6),
        ("train", 8),
        ("train", 12),
        ("valid", 12),
    ]
    assert lines[0]["loss"] == made[3].recent
    assert lines[1]["scores"] == made[5].scores
    assert lines[1]["best"] is True
    assert lines[2]["epoch"] == 1
    assert {"rate", "norm", "targets", "seconds", "per_second"} <= lines[0].keys()


@settings(max_examples=12)
@given(killed=st.integers(0, 12), saved=st.integers(0, 12), torn=st.integers(0, 200))
def test_the_log_of_a_resumed_run_is_the_unbroken_ones(
    killed: int, saved: int, torn: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, made = tmp_path_factory.mktemp("run"), steps()
    whole = written(folder / "whole", made)
    path, saved = folder / "killed", min(saved, killed)
    written(path, made[:killed])
    with path.open("ab") as file:
        file.write(json.dumps(whole[-1]).encode()[:torn])
    log = Log(path)
    assert timeless(log.resume(saved)) == timeless([line for line in whole if line["update"] <= saved])
    told = [line for step in made[saved:] for line in log.write(step)]
    assert timeless(read(path)) == timeless(whole)
    assert told == read(path)[len(whole) - len(told) :]


def test_the_clock_goes_on_where_it_stood(tmp_path: Path) -> None:
    made = steps()
    before = written(tmp_path / "log", made[:8])[-1]["seconds"]
    log = Log(tmp_path / "log", clock=lambda: 0.0)
    log.resume(8)
    assert [line["seconds"] for step in made[8:] for line in log.write(step)] == [before, before]


def test_a_log_never_resumed_begins_before_the_first_step_it_is_told(tmp_path: Path) -> None:
    written(tmp_path / "log", steps())
    log = Log(tmp_path / "log")
    log.write(steps()[5])
    assert [line["update"] for line in read(tmp_path / "log")] == [4, 6]


def test_what_json_has_no_number_for_is_null(tmp_path: Path) -> None:
    step = Step(Progress(4, (0, 1)), 1.0, 3, 0.1, math.inf, {"loss": math.nan}, recent=1.0)
    lines = written(tmp_path / "log", [step, replace(step, scores=None)])
    assert (lines[0]["norm"], lines[1]["scores"]) == (None, {"loss": None})


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    written(path, steps())
    path.write_bytes(path.read_bytes().replace(b'"kind"', b'"sort"', 1))
    with pytest.raises(DataError, match="log line 1 is no line of a training log"):
        read(path)


def test_no_log_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No file"):
        read(tmp_path / "log")
