"""The demo, whole as a user runs it (slow), and its parts."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard import demo
from regard.errors import DataError
from regard.models import Transformer


@pytest.fixture
def model() -> Transformer:
    return Transformer(demo.SETTINGS, demo.VOCABULARY)


def test_a_batch_says_what_is_real_by_length_and_asks_for_the_next_piece() -> None:
    batch = demo.collate([("abc", "cba"), ("a", "a")])
    assert batch.source.tolist() == [[3, 4, 5, 2], [3, 2, 0, 0]]
    assert batch.real.tolist() == [[True] * 4, [True, True, False, False]]
    assert batch.target.tolist() == [[1, 5, 4, 3], [1, 3, 0, 0]]
    assert batch.wanted.tolist() == [[5, 4, 3, 2], [3, 2, -100, -100]]


def test_a_few_updates_bring_the_loss_down(model: Transformer) -> None:
    steps = demo.train(model, demo.reversal(1000, seed=1))
    losses = [loss for (_, loss), _ in zip(steps, range(60), strict=False)]
    assert sum(losses[-5:]) < 0.85 * sum(losses[:5])


def test_the_picture_is_drawn_whatever_the_model_writes(model: Transformer, tmp_path: Path) -> None:
    picture = demo.draw(model, "abc", tmp_path / "new")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_attention_maps_are_one_a_layer_and_their_rows_sum_to_one(model: Transformer) -> None:
    maps = demo.looks(model, "hello")
    assert len(maps) == demo.SETTINGS.layers
    for weights_HTS in maps:
        assert weights_HTS.shape[0] == 4
        assert weights_HTS.shape[2] == len("hello") + 1
        assert torch.allclose(weights_HTS.sum(-1), torch.ones(weights_HTS.shape[:2]), atol=1e-5)


def test_a_folder_that_cannot_be_written_is_named_with_the_remedy(model: Transformer, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(DataError, match=r"Cannot write .*taken.*--out"):
        demo.draw(model, "abc", tmp_path / "taken")


@pytest.mark.slow
def test_the_demo_learns_to_reverse_strings_it_never_saw(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "regard", "demo", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    exact = float(done.stdout.split("% of 500 strings")[0].split()[-1])
    assert exact >= 98.0
    assert (tmp_path / "reversal.png").exists()
    assert "noitnetta" in done.stdout
