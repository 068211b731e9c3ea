"""Texts in groups of similar length: in their order, whoever runs the groups and however many at once."""

import threading
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.api import Pipeline
from regard.nn import native
from regard.tasks.generating import Generating
from regard.tasks.grouping import GroupSettings, in_groups

GOLDEN = Path(__file__).parents[1] / "golden" / "bundle-1"
ITEMS = ["aaaa", "b", "ccccccc", "dd", "", "eee", "f"]
TWO = GroupSettings(rows=2, tokens=100)
around: ContextVar[str] = ContextVar("around", default="nothing")


@pytest.mark.parametrize("callers", [1, 2, 5])
def test_outcomes_are_in_the_order_of_the_items(callers: int) -> None:
    assert in_groups(ITEMS, len, TWO, lambda some: [each.upper() for each in some], callers) == [
        each.upper() for each in ITEMS
    ]
    assert in_groups([], len, TWO, lambda some: some, callers) == []


def test_callers_run_at_the_same_time_each_with_its_share_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    meeting = threading.Barrier(2, timeout=120)

    def run(some: list[str]) -> list[int]:
        meeting.wait()
        return [native.threads()] * len(some)

    assert in_groups(ITEMS[:4], len, TWO, run, callers=2) == [2] * 4
    assert native.threads() == 4


def test_callers_know_what_surrounds_them() -> None:
    token = around.set("a context")
    try:
        assert set(in_groups(ITEMS, len, TWO, lambda some: [around.get()] * len(some), callers=2)) == {"a context"}
    finally:
        around.reset(token)


def test_what_goes_wrong_in_one_is_heard() -> None:
    def run(some: list[str]) -> list[str]:
        if "dd" in some:
            raise ValueError("dd")
        return some

    with pytest.raises(ValueError, match="dd"):
        in_groups(ITEMS, len, TWO, run, callers=2)


@pytest.mark.parametrize("method", [("search.method=greedy",), ("search.beams=3",), ("search.method=sample",)])
def test_a_model_answers_the_same_whoever_runs_its_groups(
    method: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Pipeline.load(GOLDEN, [*method, "predict.rows=3"])
    lines = [" ".join("abcdefg"[: 1 + number % 7]) for number in range(20)]
    answers, seen = {}, set[str]()
    searched = Generating.searched

    def watched(self: Generating, asked: Any) -> Any:
        seen.add(threading.current_thread().name)
        return searched(self, asked)

    monkeypatch.setattr(Generating, "searched", watched)
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=threads: count)
        answers[threads] = model.predict(lines)
        assert seen == ({"MainThread"} if threads == 1 else seen - {"MainThread"})
        seen.clear()
    assert answers[1] == answers[3]
