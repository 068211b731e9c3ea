"""Workers that share a batch find what one finds; what is chosen by measuring gives what torch gives."""

import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.api import choosing
from regard.decode import SearchSettings, search
from regard.engines.ctranslate2 import run
from regard.engines.ctranslate2.running import Output, Row
from regard.engines.ctranslate2.sharing import LEAST, Sharing
from regard.errors import RequestError
from tests.engines.test_ctranslate2 import PIECES, SEARCHES, same
from tests.engines.toys import SEQUENCES, made, pipeline, sources

pytest.importorskip("ctranslate2")


@pytest.mark.parametrize("how", SEARCHES)
def test_two_workers_find_what_our_own_search_finds(how: str) -> None:
    model = made("transformer", SEQUENCES["pre"])
    torch.manual_seed(1)
    source, real = sources(*([3, 1, 5, 2] * LEAST))
    settings = SearchSettings.read({"longest_factor": 1.0, "longest_extra": 8, **SEARCHES[how]})
    shared = run(model, PIECES, workers=2).model
    same(*(search(each, source, real, settings, banned=(0, 3)) for each in (model, shared)))


@pytest.mark.parametrize("workers", [None, 1, 2])
def test_torch_keeps_its_threads(workers: int | None) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        run(made("transformer", SEQUENCES["pre"]), PIECES, workers=workers)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


class Echo:
    """A writer whose output tells what it was given, and with how many others."""

    positions, counts_prefix = None, True

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def write(self, rows, options, stops, hear):  # type: ignore[no-untyped-def]
        self.sizes.append(len(rows))
        for number, row in enumerate(rows):
            hear(number, row.source[0], 0.0)
        return [[Output(row.source, 0.0, True)] for row in rows]

    def measure(self, rows, outputs, end):  # type: ignore[no-untyped-def]
        assert [row.source for row in rows] == [output.pieces for output in outputs]
        return [(float(row.source[0]),) for row in rows]

    def reach(self, row: Row) -> int:
        return len(row.source)


@given(count=st.integers(1, 70), workers=st.integers(1, 5))
def test_every_row_is_written_heard_and_measured_once_and_in_its_place(count: int, workers: int) -> None:
    echo, heard = Echo(), dict[int, int]()
    sharing = Sharing(echo, workers)
    rows = [Row((number,), (), (), 1) for number in range(count)]
    written = sharing.write(rows, {}, (0,), lambda row, piece, value: heard.update({row: piece}))
    assert [one[0].pieces for one in written] == [row.source for row in rows]
    assert heard == {number: number for number in range(count)}
    assert sharing.measure(rows, [one[0] for one in written], 0) == [(float(number),) for number in range(count)]
    assert len(echo.sizes) == 1 or min(sorted(echo.sizes)[1:]) >= LEAST


class Slow(Echo):
    """Holds its first call until a second has been answered."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.answered = threading.Event(), threading.Event()

    def write(self, rows, options, stops, hear):  # type: ignore[no-untyped-def]
        if not self.begun.is_set():
            self.begun.set()
            assert self.answered.wait(60)
        return super().write(rows, options, stops, hear)


def test_a_batch_is_shared_only_while_nobody_else_calls() -> None:
    slow = Slow()
    sharing = Sharing(slow, 2)
    few, many = ([Row((number,), (), (), 1) for number in range(count)] for count in (1, 4 * LEAST))

    def written(rows: list[Row]) -> int:
        return len(sharing.write(rows, {}, (0,), lambda row, piece, value: None))

    first = threading.Thread(target=written, args=(few,))
    first.start()
    assert slow.begun.wait(60)
    assert written(many) == len(many)
    slow.answered.set()
    first.join()
    assert sorted(slow.sizes) == [1, 4 * LEAST]
    # Alone again, it has both workers.
    written(many)
    assert sorted(slow.sizes) == [1, 2 * LEAST, 2 * LEAST, 4 * LEAST]


def test_the_ways_to_predict_are_all_there_and_agree() -> None:
    ours = pipeline("translation")
    rows = [entry["input"] for entry in ours.golden] * 5
    found = choosing.ways(ours, rows)
    names = {way.pipeline.engine.name if way.pipeline.engine else "torch" for way in found}
    assert names == {"torch", "ctranslate2"}
    assert [way.rate for way in found] == sorted((way.rate for way in found), reverse=True)
    wanted = [result.text for result in ours.predict(rows)]
    assert all([result.text for result in way.pipeline.predict(rows)] == wanted for way in found)


def test_trying_predicts_every_input_once_and_goes_on_by_the_fastest() -> None:
    ours = pipeline("translation")
    rows = [entry["input"] for entry in ours.golden] * 200
    told: list[list[choosing.Way]] = []
    trying = choosing.Trying(ours, told.append, patience=0.0)
    wanted = [result.text for result in ours.predict(rows)]
    # While another engine is being made, what there is predicts.
    while not told:
        found = [result.text for result in trying.stream(rows)]
        assert found == wanted
    ((first, second),) = told
    assert first.rate >= second.rate
    assert {way.pipeline.engine is None for way in (first, second)} == {True, False}
    # Asked again, it knows.
    assert [result.text for result in trying.stream(rows[:3])] == found[:3]
    assert len(told) == 1


def test_what_is_soon_over_is_predicted_as_it_is_and_nothing_else_is_made() -> None:
    ours = pipeline("translation")
    rows = [entry["input"] for entry in ours.golden] * 100
    told: list[list[choosing.Way]] = []
    before = set(threading.enumerate())
    found = [result.text for result in choosing.Trying(ours, told.append, patience=600.0).stream(rows)]
    assert found == [result.text for result in ours.predict(rows)]
    assert not told
    assert not [one for one in set(threading.enumerate()) - before if one.name.startswith("regard-engine")]
    assert choosing.fastest(ours, rows) is ours


def test_a_faster_engine_is_looked_for_where_all_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = pipeline("translation")
    rows = [entry["input"] for entry in ours.golden] * 20
    monkeypatch.setattr(choosing, "PATIENCE", 0.0)
    found = choosing.fastest(ours, rows)
    assert found is not ours or found.engine is None
    assert [result.text for result in found.predict(rows)] == [result.text for result in ours.predict(rows)]
    unreadable = [{**rows[0], "prefix_pieces": "[99999]"}]
    assert choosing.fastest(ours, unreadable) is ours


def test_trying_is_not_misled_by_an_input_that_no_engine_can_answer() -> None:
    ours = pipeline("translation")
    good = ours.golden[0]["input"]
    bad = {**good, "prefix_pieces": "[99999]"}
    told: list[list[choosing.Way]] = []
    trying = choosing.Trying(ours, told.append, patience=0.0)
    with pytest.raises(RequestError):
        list(trying.stream([good] * 40 + [bad] + [good] * 600))
    while not told:
        assert len(list(trying.stream([good] * 600))) == 600
    assert len(told[0]) == 2


def test_trying_leaves_to_torch_what_no_other_engine_can_do() -> None:
    ours = pipeline("translation").with_settings("search.method=diverse", "search.beams=2")
    rows = [entry["input"] for entry in ours.golden] * 200
    told: list[list[choosing.Way]] = []
    trying, wanted = choosing.Trying(ours, told.append, patience=0.0), ours.predict(rows)
    while not told:
        assert [result.text for result in trying.stream(rows)] == [result.text for result in wanted]
    ((way,),) = told
    assert way.pipeline.engine is None


def test_what_no_other_engine_can_do_is_left_to_torch() -> None:
    ours = pipeline("translation").with_settings("search.method=diverse", "search.beams=2")
    (way,) = choosing.ways(ours, [entry["input"] for entry in ours.golden])
    assert way.pipeline.engine is None
