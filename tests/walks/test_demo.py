"""The demo, whole as a user runs it (slow), and quick with a model that hardly learned."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from regard import demo
from regard.api import load
from regard.errors import ConfigError, DataError

QUICK = (
    "train.updates=3",
    "train.every=3",
    "search.method=greedy",
    "search.longest_factor=0",
    "search.longest_extra=4",
)


@pytest.mark.parametrize("pair", ["en-de", "en-zh"])
def test_the_demo_leaves_a_corpus_a_run_and_a_picture_and_says_what_to_type(
    pair: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.run(tmp_path, seed=0, pair=pair, changes=QUICK)
    told = capsys.readouterr().out
    assert "BLEU" in told
    assert "regard predict" in told
    folder = tmp_path / pair
    assert (folder / "attention.svg").read_text("utf-8").startswith("<svg")
    assert load(folder / "run").predict(["He reads a book."])
    assert len((folder / "data" / "train.en").read_text("utf-8").splitlines()) == 20_000


def test_a_second_demo_replaces_the_first(tmp_path: Path) -> None:
    (tmp_path / "en-de" / "run").mkdir(parents=True)
    (tmp_path / "en-de" / "run" / "recipe.toml").write_text("left by an earlier one")
    demo.run(tmp_path, seed=0, changes=QUICK)
    assert load(tmp_path / "en-de" / "run")


def test_the_command_changes_settings_of_the_demo(tmp_path: Path) -> None:
    words = [word for change in (*QUICK, "train.updates=2", "device=cpu") for word in ("--set", change)]
    call = [sys.executable, "-m", "regard", "demo", "--task", "tagging", "--out", str(tmp_path), *words]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "tagging" / "run").recipe.train.updates == 2


def test_an_unknown_pair_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'en-de'"):
        demo.run(tmp_path, seed=0, pair="en-dr")


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="give another folder with --out"):
        demo.run(tmp_path / "file", seed=0)


@pytest.mark.slow
def test_the_demo_reaches_95_bleu_on_combinations_it_never_saw(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "regard", "demo", "--out", str(tmp_path)]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    told = re.search(r"BLEU (\d+\.\d+)", done.stdout)
    assert told, done.stdout
    assert float(told[1]) >= 95, done.stdout
