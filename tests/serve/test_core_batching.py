"""What waits is joined, and nobody notices."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.errors import RequestError
from regard.serve.batching import Batcher
from regard.serve.giving_up import GaveUp, interruptible, while_wanted
from regard.serve.problems import Busy, Leaving
from regard.serve.settings import ServeSettings
from regard.serve.turns import Turn


@dataclass(frozen=True)
class Echo:
    """A result that says what was asked, and how."""

    text: str
    status: tuple[str, ...] = ("complete",)

    def plain(self) -> dict[str, Any]:
        return {"text": self.text}


class Model:
    """Computes by repeating; `poison` fails, and it waits while it is held."""

    def __init__(self, held: bool = False) -> None:
        self.batches: list[list[str]] = []
        self.free, self.begun = threading.Event(), threading.Event()
        if not held:
            self.free.set()

    def __call__(self, rows: Sequence[Any], changes: tuple[str, ...], wanted: Callable[[], bool]) -> list[Echo]:
        self.batches.append(list(rows))
        self.begun.set()
        assert self.free.wait(20)
        if "poison" in rows:
            raise RequestError("This is poison; send something else.")
        return [Echo(f"{row} {' '.join(changes)}".strip()) for row in rows]


def batcher(model: Model, **settings: Any) -> Batcher:
    return Batcher(model, ServeSettings(**{"window_ms": 0, **settings}), lambda rows, seconds: None)


def texts(future: Future[list[Any]]) -> list[str]:
    return [result.text for result in future.result(20)]


def over(one: Batcher) -> None:
    """Close it and wait: beartype draws random numbers in its thread, which hypothesis would take for ours."""
    one.close()
    one.thread.join(20)


def held(**settings: Any) -> tuple[Model, Batcher, Future[list[Any]]]:
    """A batcher whose thread is busy with a first request until the model is freed."""
    model = Model(held=True)
    one = batcher(model, **settings)
    first = one.ask(["first"])
    assert model.begun.wait(20)
    return model, one, first


def test_what_waits_is_computed_together_and_each_gets_its_own() -> None:
    model, one, first = held()
    asked = [one.ask([f"a{number}", f"b{number}"]) for number in range(5)]
    model.free.set()
    assert texts(first) == ["first"]
    assert [texts(future) for future in asked] == [[f"a{number}", f"b{number}"] for number in range(5)]
    assert [len(batch) for batch in model.batches] == [1, 10]
    over(one)


@given(
    requests=st.lists(st.tuples(st.integers(1, 7), st.sampled_from([(), ("x=1",), ("x=2",)])), min_size=1, max_size=12),
    batch=st.integers(1, 9),
)
def test_whatever_is_joined_every_request_gets_its_own_in_order(
    requests: list[tuple[int, tuple[str, ...]]], batch: int
) -> None:
    model, one, _ = held(batch=batch)
    asked = [
        (one.ask([f"{place}.{row}" for row in range(count)], changes), count, changes)
        for place, (count, changes) in enumerate(requests)
    ]
    model.free.set()
    for place, (future, count, changes) in enumerate(asked):
        assert texts(future) == [f"{place}.{row} {' '.join(changes)}".strip() for row in range(count)]
    assert max(map(len, model.batches)) <= batch
    over(one)


def test_a_long_request_does_not_hold_up_a_short_one() -> None:
    model, one, _ = held(batch=4)
    long, short = one.ask([f"long{number}" for number in range(12)]), one.ask(["short"])
    model.free.set()
    assert len(texts(long)) == 12
    assert texts(short) == ["short"]
    assert "short" in model.batches[1]
    over(one)


def test_a_batch_holds_no_more_characters_than_it_may_unless_one_text_does() -> None:
    model, one, _ = held(batch_characters=10)
    asked = one.ask(["x" * 6, "y" * 6, "z" * 30])
    model.free.set()
    texts(asked)
    assert [sum(map(len, batch)) for batch in model.batches[1:]] == [6, 6, 30]
    over(one)


def test_poison_fails_its_own_request_only() -> None:
    model, one, _ = held()
    good, bad, also = one.ask(["a"]), one.ask(["b", "poison"]), one.ask(["c"])
    model.free.set()
    assert (texts(good), texts(also)) == (["a"], ["c"])
    with pytest.raises(RequestError, match="poison"):
        bad.result(20)
    assert texts(one.ask(["after"])) == ["after"]
    over(one)


def test_a_full_queue_refuses_and_says_for_how_long() -> None:
    model, one, _ = held(queue=3)
    one.ask(["a", "b"])
    with pytest.raises(Busy) as refused:
        one.ask(["c", "d"])
    assert int(refused.value.headers["retry-after"]) >= 1
    assert one.waiting == 2
    model.free.set()
    over(one)


def test_a_request_larger_than_the_queue_is_taken_when_nothing_waits() -> None:
    model = Model()
    one = batcher(model, queue=2)
    assert len(texts(one.ask(["a", "b", "c", "d"]))) == 4
    over(one)


def test_what_was_given_up_is_never_begun() -> None:
    model, one, _ = held(batch=2)
    dropped, kept = one.ask(["gone1", "gone2"]), one.ask(["kept"])
    assert dropped.cancel()
    model.free.set()
    assert texts(kept) == ["kept"]
    assert model.batches == [["first"], ["kept"]]
    over(one)


def test_the_rest_of_a_request_given_up_half_way_is_dropped() -> None:
    model = Model(held=True)
    one = batcher(model, batch=1)
    half = one.ask(["one", "two", "three"])
    assert model.begun.wait(20)
    assert half.cancel()
    model.free.set()
    assert texts(one.ask(["next"])) == ["next"]
    assert model.batches == [["one"], ["next"]]
    over(one)


def test_other_work_is_done_in_its_turn() -> None:
    model, one, _ = held()
    order: list[str] = []
    done = one.do(lambda wanted: order.append("work"))
    model.free.set()
    done.result(20)
    assert order == ["work"]
    with pytest.raises(ZeroDivisionError):
        one.do(lambda wanted: 1 // 0).result(20)
    over(one)


def test_once_closed_whoever_waits_is_told() -> None:
    model, one, first = held()
    waiting = one.ask(["a"])
    one.close()
    with pytest.raises(Leaving):
        waiting.result(20)
    with pytest.raises(Leaving):
        one.ask(["b"])
    model.free.set()
    assert texts(first) == ["first"]
    one.thread.join(20)
    assert not one.thread.is_alive()


def test_turns_are_taken_in_the_order_of_coming() -> None:
    turn, order, waiting = Turn(), list[int](), list[threading.Thread]()

    def take(number: int) -> None:
        with turn:
            order.append(number)

    with turn:
        for number in range(8):
            waiting.append(threading.Thread(target=take, args=(number,)))
            waiting[-1].start()
            while len(turn.line) <= number:
                pass
    for thread in waiting:
        thread.join(20)
    assert order == list(range(8))


def test_a_model_stops_once_nobody_wants_it_and_works_afterwards() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)))
    interruptible(model)
    calls = iter([True, True, False])
    with while_wanted(lambda: next(calls)):
        model(torch.zeros(1, 2))
        with pytest.raises(GaveUp):
            model(torch.zeros(1, 2))
    assert next(calls, None) is None
    assert model(torch.zeros(1, 2)).shape == (1, 2)
