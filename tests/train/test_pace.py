"""Pace by an injected clock."""

from regard.train import Pace


def test_the_pace_is_that_of_the_last_updates_and_the_time_left_that_of_all() -> None:
    now = [0.0]
    pace = Pace(window=2, clock=lambda: now[0])
    assert (pace.per_second, pace.left(10)) == (0.0, None)
    for targets, seconds in [(100, 10.0), (100, 1.0), (300, 1.0)]:
        now[0] += seconds
        pace.add(targets)
    assert pace.per_second == 400 / 2
    assert pace.left(10) == 12 / 3 * 10
    assert pace.left(-1) == 0.0
    now[0] += 5.0
    assert pace.seconds == 17.0


def test_a_clock_that_stands_still_divides_nothing_by_zero() -> None:
    pace = Pace(clock=lambda: 1.0)
    pace.add(10)
    assert (pace.per_second, pace.left(3)) == (0.0, 0.0)
