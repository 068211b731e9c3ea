"""The picture: it is drawn whatever the log holds, the same bytes each time."""

from pathlib import Path

import pytest
from matplotlib.image import imread

from regard.errors import DataError
from regard.train import draw


def lines(scores: tuple[str, ...], updates: int = 6) -> list[dict]:
    made = []
    for update in range(1, updates + 1):
        made.append({"kind": "train", "update": update, "epoch": 0, "loss": 5.0 / update, "seconds": 0.0})
        if scores and update % 2 == 0:
            told = {name: float(update) for name in scores}
            made.append({"kind": "valid", "update": update, "epoch": 0, "scores": told, "best": update == 4})
    return made


@pytest.mark.parametrize(("scores", "height"), [((), 600), (("loss",), 600), (("loss", "bleu", "chrf"), 1380)])
def test_a_panel_for_the_losses_and_one_for_every_other_score(
    scores: tuple[str, ...], height: int, tmp_path: Path
) -> None:
    draw(lines(scores), tmp_path / "run.png")
    assert imread(tmp_path / "run.png").shape[:2] == (height, 1200)


def test_the_same_lines_are_the_same_bytes_and_others_are_not(tmp_path: Path) -> None:
    pictures = []
    for made in (lines(("loss",)), lines(("loss",)), lines(("loss",), 5)):
        draw(made, tmp_path / "run.png")
        pictures.append((tmp_path / "run.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


def test_a_number_that_is_none_leaves_a_gap(tmp_path: Path) -> None:
    made = [{"kind": "valid", "update": 1, "scores": {"loss": None}, "best": False}, *lines(("loss",))]
    draw(made, tmp_path / "run.png")
    assert (tmp_path / "run.png").exists()


def test_one_line_is_enough_and_none_is_not(tmp_path: Path) -> None:
    draw(lines((), 1), tmp_path / "run.png")
    with pytest.raises(DataError, match="nothing to draw"):
        draw([], tmp_path / "run.png")
