"""TensorBoard shows the numbers of the log, once, also after a kill."""

import sys
from pathlib import Path

import pytest

from regard.errors import ConfigError
from regard.train import TensorBoard

LINES = [
    {"kind": "train", "update": 4, "loss": 2.0, "rate": 0.1, "norm": None, "per_second": 9.0},
    {"kind": "valid", "update": 6, "scores": {"loss": 1.5, "bleu": 30.0}, "best": True},
    {"kind": "train", "update": 8, "loss": 1.0, "rate": 0.2, "norm": 3.0, "per_second": 9.0},
]


def shown(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    accumulator = events.EventAccumulator(str(folder)).Reload()
    tags = accumulator.Tags()["scalars"]
    return {tag: [(event.step, event.value) for event in accumulator.Scalars(tag)] for tag in tags}


def test_the_numbers_of_the_log_are_shown(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    board = TensorBoard(tmp_path)
    board.begin()
    board.write(LINES)
    board.close()
    assert shown(tmp_path)["train/loss"] == [(4, 2.0), (8, 1.0)]
    assert shown(tmp_path)["valid/bleu"] == [(6, 30.0)]
    assert shown(tmp_path)["train/norm"] == [(8, 3.0)]


def test_begun_anew_from_the_log_nothing_is_shown_twice(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    killed = TensorBoard(tmp_path)
    killed.write(LINES)
    board = TensorBoard(tmp_path)
    board.begin(LINES[:2])
    board.write(LINES[2:])
    board.close()
    assert shown(tmp_path)["train/loss"] == [(4, 2.0), (8, 1.0)]
    killed.close()


def test_where_it_is_not_installed_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ConfigError, match=r"pip install 'regard\[tensorboard\]'"):
        TensorBoard(tmp_path).begin()
