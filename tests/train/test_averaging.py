"""Kept parameters: which, that resumed = unbroken at every moment, and their mean."""

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import DataError
from regard.train import AverageSettings, Checkpoint, Kept, averaged, newest, save
from regard.train.checkpoints import number


def parameters(update: int) -> dict[str, torch.Tensor]:
    return {"weight": torch.full((2,), float(update)), "count": torch.tensor(update)}


def keep(kept: Kept, scores: dict[int, float], checkpoints: dict[int, bool] | None = None) -> None:
    for update, score in scores.items():
        kept.add(update, score, parameters(update))
        if checkpoints and checkpoints[update]:
            save(kept.checkpoints, Checkpoint(update, {}, {}))


def updates(kept: Kept) -> list[int]:
    return [number(path) for path in kept.paths()]


SCORES = {10: 3.0, 20: 1.0, 30: 2.0, 40: math.nan, 50: 1.0, 60: 9.0}


@pytest.mark.parametrize(
    ("what", "higher", "expected"),
    [("last", False, [40, 50, 60]), ("best", False, [20, 30, 50]), ("best", True, [10, 30, 60])],
)
def test_the_last_or_the_best_are_kept(what: str, higher: bool, expected: list[int], tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept", AverageSettings(what=what, count=3), higher=higher)
    keep(kept, SCORES)
    assert updates(kept) == expected
    assert len(list((tmp_path / "kept").iterdir())) == 3


def test_of_equals_the_earlier_is_the_better(tmp_path: Path) -> None:
    kept = Kept(tmp_path, AverageSettings(what="best", count=1))
    keep(kept, {10: 1.0, 20: 1.0})
    assert updates(kept) == [10]


@settings(max_examples=12)
@given(
    what=st.sampled_from(["last", "best"]),
    count=st.integers(1, 3),
    scores=st.lists(st.integers(0, 4), min_size=2, max_size=9),
    data=st.data(),
)
def test_a_run_resumed_keeps_what_the_unbroken_one_keeps_at_every_moment(
    what: str, count: int, scores: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("run")
    told = {10 * place: float(score) for place, score in enumerate(scores, 1)}
    saved = {update: data.draw(st.booleans()) for update in told}
    killed = data.draw(st.sampled_from(list(told)))
    chosen = AverageSettings(what=what, count=count)
    broken = Kept(folder / "kept", chosen, folder / "checkpoints")
    keep(broken, {update: score for update, score in told.items() if update <= killed}, saved)
    stored, _ = newest(folder / "checkpoints")
    start = stored.update if stored else 0
    assert broken.resume(start) == []
    whole = Kept(folder / "whole", chosen)
    keep(whole, {update: score for update, score in told.items() if update <= start})
    assert updates(broken) == updates(whole)
    for update in [update for update in told if update > start]:
        keep(broken, {update: told[update]})
        keep(whole, {update: told[update]})
        assert updates(broken) == updates(whole)


def test_a_damaged_one_is_dropped_on_resume_with_a_word(tmp_path: Path) -> None:
    kept = Kept(tmp_path, AverageSettings(count=3))
    keep(kept, {10: 1.0, 20: 1.0})
    (kept.paths()[0] / "parameters.safetensors").write_bytes(b"")
    (trouble,) = kept.resume(20)
    assert "update-00000010" in trouble
    assert updates(kept) == [20]


def test_the_mean_is_exact_in_float64_and_whole_numbers_are_the_last(tmp_path: Path) -> None:
    kept = Kept(tmp_path, AverageSettings(count=3))
    keep(kept, {1: 0.0, 2: 0.0, 4: 0.0})
    mean = averaged(kept.paths())
    assert mean["weight"].dtype is torch.float32
    assert torch.equal(mean["weight"], (torch.full((2,), 7.0).double() / 3).float())
    assert int(mean["count"]) == 4


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=6))
def test_the_mean_of_tensors_is_that_of_their_numbers(values: list[float]) -> None:
    mean = averaged({"a": torch.tensor([value])} for value in values)
    assert float(mean["a"]) == pytest.approx(sum(values) / len(values), rel=1e-6, abs=1e-6)


def test_one_set_is_its_own_mean_to_the_bit() -> None:
    only = {"a": torch.randn(5)}
    assert torch.equal(averaged([only])["a"], only["a"])


def test_what_has_no_mean_is_refused() -> None:
    with pytest.raises(DataError, match="no parameters to average"):
        averaged([])
    with pytest.raises(DataError, match="belongs to another model"):
        averaged([{"a": torch.ones(1)}, {"a": torch.ones(2)}])
