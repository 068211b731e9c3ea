"""Signals: the first is a wish, the second an order; nothing is left behind."""

import os
import signal
import threading

import pytest

from regard.train import FitSettings, Stopping, fit
from tests.train import toy


@pytest.fixture(autouse=True)
def as_at_a_terminal():
    """Under a job in the background SIGINT is ignored from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_flag_that_ends_the_run_after_the_step(number: int) -> None:
    taught = toy.learner()
    made = []
    with Stopping() as stop:
        for step in fit(taught, toy.batches((0, 0)), lambda: {"loss": 0.0}, FitSettings(), stop=stop):
            made.append(step)
            if len(made) == 3:
                os.kill(os.getpid(), number)
    assert (len(made), made[-1].last, made[-1].ending, stop.signal) == (4, True, "stop", number)


def test_the_second_signal_interrupts_at_once() -> None:
    with Stopping() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_what_was_there_before_is_there_again() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Stopping() as stop:
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert not stop()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Stopping() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert not stop()


def test_in_another_thread_it_does_nothing() -> None:
    asked = []

    def work() -> None:
        with Stopping() as stop:
            asked.append(stop())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [False]
