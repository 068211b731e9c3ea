"""Several processes give what one would, and none outlives its use."""

import multiprocessing
import time
from collections.abc import Iterator

import pytest

from regard.data.workers import AHEAD, ordered
from regard.errors import DataError
from tests.data.encoders import FailingAt


def squared(number: int) -> int:
    time.sleep(0.002 * (number % 3))
    return number**2


@pytest.fixture(autouse=True)
def nobody_is_left_behind() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(("processes", "count"), [(1, 0), (1, 5), (2, 0), (3, 40)])
def test_results_come_in_the_order_of_the_tasks(processes: int, count: int) -> None:
    assert list(ordered(squared, range(count), processes)) == [number**2 for number in range(count)]


def test_tasks_are_not_read_far_ahead() -> None:
    taken: list[int] = []
    tasks = (taken.append(number) or number for number in range(100))
    for done, _ in enumerate(ordered(squared, tasks, 2), 1):
        assert len(taken) <= done + 2 * AHEAD + 2


def test_a_told_error_crosses_over() -> None:
    with pytest.raises(DataError, match=r"^told$"):
        list(ordered(FailingAt("x", "told"), [{"source": [text]} for text in "abx"], 2))


def test_a_bug_crosses_over_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError: a bug"):
        list(ordered(FailingAt("x", "bug"), [{"source": [text]} for text in "abx"], 2))


def test_a_killed_worker_is_noticed() -> None:
    with pytest.raises(DataError, match=r"A worker process ended by signal 9 \(out of memory\?\)\. Start again"):
        list(ordered(FailingAt("x", "killed"), [{"source": [text]} for text in "axbcdefgh"], 2))


def test_an_error_in_the_tasks_ends_the_workers() -> None:
    def tasks() -> Iterator[int]:
        yield 1
        raise DataError("bad line")

    with pytest.raises(DataError, match="bad line"):
        list(ordered(squared, tasks(), 2))


def test_leaving_early_ends_the_workers() -> None:
    results = ordered(squared, range(100), 2)
    assert next(results) == 0
    results.close()
