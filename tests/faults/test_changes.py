"""Files changed or removed under a running job: it ends at once with a sentence, or goes on as if nothing had been."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from regard import api
from regard.api import Training, read
from regard.errors import DataError, RegardError
from tests.api.toy import recipe
from tests.cli.toy import regard
from tests.faults.counted import refusal

GOLDEN = Path(__file__).parents[1] / "golden" / "bundle-1"


def begun(folder: Path) -> tuple[Path, Callable[[], object]]:
    """A run after its second update, and how it goes on to its end."""
    plan = recipe(folder / "data", train={"updates": 12, "every": 4, "log": 1})
    steps = Training(read(plan), folder / "run").steps()
    next(steps), next(steps)
    return folder / "run", lambda: list(steps)


def emptied(run: Path, name: str) -> None:
    os.truncate(run / "data" / "train-0" / name, 0)


def rewritten(run: Path, name: str) -> None:
    path = run / "data" / "train-0" / name
    size = path.stat().st_size
    path.write_bytes(b"\xff" * size)


@pytest.mark.parametrize("change", [emptied, rewritten])
@pytest.mark.parametrize("name", ["pieces.bin", "offsets.bin", "lengths.bin"])
def test_prepared_data_that_change_end_the_run_with_a_sentence(
    change: Callable[[Path, str], None], name: str, tmp_path: Path
) -> None:
    """Cut short, a mapped file would otherwise end the process without a word."""
    run, go_on = begun(tmp_path)
    change(run, name)
    with pytest.raises(DataError, match=rf"{name} was changed while it was in use"):
        go_on()


def removed_data(run: Path) -> None:
    shutil.rmtree(run / "data")


def removed_texts(run: Path) -> None:
    for path in run.parent.glob("data/train.*"):
        path.write_text("other\n")


def removed_checkpoints(run: Path) -> None:
    shutil.rmtree(run / "checkpoints", ignore_errors=True)


@pytest.mark.parametrize("change", [removed_data, removed_texts, removed_checkpoints])
def test_what_is_not_needed_any_more_may_go(change: Callable[[Path], None], tmp_path: Path) -> None:
    run, go_on = begun(tmp_path)
    change(run)
    assert refusal(go_on) == ""
    assert (run / "checkpoints" / "update-00000012").is_dir()


def test_a_run_whose_folder_is_removed_ends_with_a_sentence(tmp_path: Path) -> None:
    run, go_on = begun(tmp_path)
    shutil.rmtree(run)
    assert str(run) in refusal(go_on)


def test_a_bundle_and_an_input_removed_while_predicting_do_not_matter(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "bundle")
    pipeline = api.load(tmp_path / "bundle")
    wanted = pipeline.predict(["dog runs"])[0].text
    shutil.rmtree(tmp_path / "bundle")
    assert pipeline.predict(["dog runs"])[0].text == wanted


def test_a_bundle_named_as_a_run_is_refused_and_not_trained_into(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "bundle")
    result = regard("train", tmp_path / "bundle", "--set", f"data.root={tmp_path}")
    assert isinstance(result.exception, RegardError)
    api.load(tmp_path / "bundle", verify=True)


def test_an_output_whose_folder_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("dog\n")
    result = regard("predict", GOLDEN, tmp_path / "input.txt", "--out", tmp_path / "gone" / "output.txt")
    assert isinstance(result.exception, DataError)
    assert "gone" in str(result.exception)
