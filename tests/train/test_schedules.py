"""Learning rates against their formulas."""

import math

import pytest

from regard.config import make
from regard.errors import ConfigError
from regard.train.schedules import SCHEDULES


def schedule(name: str, rate: float = 0.01, steps: int = 1000, **options: object):
    return make("schedule", SCHEDULES, {"name": name, **options}, rate, steps)


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_warms_up_in_a_straight_line_and_is_never_above_its_peak(name: str) -> None:
    made = schedule(name, warm_up=100)
    peak = made.rate(100)
    assert [made.rate(step) / peak for step in (1, 25, 50, 99)] == pytest.approx([0.01, 0.25, 0.5, 0.99])
    assert all(0 <= made.rate(step) <= peak * (1 + 1e-12) for step in range(1, 1500))


@pytest.mark.parametrize("name", SCHEDULES)
def test_after_the_warm_up_no_schedule_rises(name: str) -> None:
    made = schedule(name, warm_up=100)
    rates = [made.rate(step) for step in range(100, 1500)]
    assert rates == sorted(rates, reverse=True)


def test_the_papers_schedule_is_the_papers_formula() -> None:
    made = schedule("paper", rate=1.0, warm_up=4000, width=512)
    for step in (1, 10, 3999, 4000, 4001, 100_000):
        assert made.rate(step) == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5))


def test_ends_are_where_they_are_said_to_be() -> None:
    assert schedule("linear", warm_up=10).rate(1000) == 0.0
    assert schedule("linear", warm_up=10, floor=0.1).rate(1000) == pytest.approx(0.001)
    assert schedule("cosine", warm_up=0).rate(500) == pytest.approx(0.005)
    assert schedule("cosine", floor=0.2).rate(5000) == pytest.approx(0.002)
    assert schedule("inverse_root", warm_up=100).rate(400) == pytest.approx(0.01 * math.sqrt(100 / 400))
    assert schedule("constant").rate(7) == 0.01


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("constant", {"warm_up": -1}, "negative"),
        ("linear", {"floor": 2.0}, "outside 0 to 1"),
        ("cosine", {"flor": 0.1}, "Did you mean 'floor'"),
        ("cosin", {}, "Did you mean 'cosine'"),
    ],
)
def test_what_cannot_be_is_refused(name: str, options: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        schedule(name, **options)


def test_a_rate_that_teaches_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="teaches nothing"):
        schedule("constant", rate=0.0)
