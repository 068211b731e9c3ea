"""Budgets of draws and of time: the best estimate so far, never from too few draws, the same for the same draws."""

import re

import pytest

from regard.explain import Attribution
from regard.explain.budget import DrawSettings, rounds, student
from regard.explain.lime import LimeSettings, lime
from regard.explain.permutation import PermutationSettings, field, permutation
from regard.explain.shapley import ShapleySettings, shapley
from tests.explain.known_truth import table
from tests.explain.test_permutation import ROWS, product

# 97.5 % quantiles as tables of Student's t have them.
TABLE = {1: 12.706, 4: 2.776, 9: 2.262, 10: 2.228, 15: 2.131, 29: 2.045, 60: 2.000, 120: 1.980}
MOMENT = 1e-9


def test_quantiles_are_those_of_the_tables() -> None:
    assert {freedom: student(freedom) for freedom in TABLE} == pytest.approx(TABLE, abs=1e-3)


def test_rounds_add_up_to_what_is_wanted() -> None:
    assert list(rounds(DrawSettings(samples=25), 5, 10)) == [10, 10, 5]


def test_fewer_than_the_least_are_never_made() -> None:
    assert sum(rounds(DrawSettings(samples=2), 12, 5)) == 12
    assert sum(rounds(DrawSettings(samples=1000, seconds=MOMENT), 12, 5)) == 15


def test_progress_is_told_after_every_round() -> None:
    told: list[tuple[int, int]] = []
    list(rounds(DrawSettings(samples=25), 5, 10, lambda made, wanted: told.append((made, wanted))))
    assert told == [(10, 25), (20, 25), (25, 25)]


def draws(found: Attribution) -> int:
    return int(re.search(r"(\d+) (versions|pairs|shuffles)", found.source)[1])


@pytest.mark.parametrize("method", ["lime", "shapley", "permutation"])
def test_out_of_time_is_the_same_as_so_many_draws(method: str) -> None:
    def run(samples: int, seconds: float | None) -> Attribution:
        if method == "permutation":
            settings = PermutationSettings(samples=samples, seconds=seconds)
            return permutation(ROWS, product, {"a": field("a")}, settings)
        if method == "lime":
            return lime(table(14)[0], LimeSettings(samples=samples, seconds=seconds, tokens=320))
        return shapley(table(14)[0], ShapleySettings(samples=samples, seconds=seconds, tokens=320))

    hurried = run(10_000, MOMENT)
    assert 0 < draws(hurried) < 200
    calm = run(draws(hurried), None)
    assert hurried.plain() == calm.plain()
    assert hurried.error is not None
    assert hurried.error.max() > 0


def test_a_method_tells_its_progress() -> None:
    told: list[tuple[int, int]] = []
    shapley(table(14)[0], ShapleySettings(samples=7, tokens=320), lambda made, wanted: told.append((made, wanted)))
    assert told == [(made, 7) for made in range(1, 8)]
