"""Training as typed: what is shown, how it ends, how it goes on."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from regard.cli.progress import Lines, Terminal, Watcher, watcher
from regard.errors import ConfigError
from regard.train import FitSettings, Progress, Step
from tests.cli.toy import regard


def test_a_run_ends_with_scores_and_the_next_command(toy: Path, here: Path) -> None:
    result = regard("train", "toy", "--out", "runs/plain")
    assert result.exit_code == 0
    assert "validation" in result.stdout
    assert "nrefs:1|case:mixed" in result.stdout
    assert result.stdout.splitlines()[-1] == "  regard evaluate runs/plain"
    assert "runs/plain/bundle" in result.stdout
    assert [line for line in result.stderr.splitlines() if line.startswith("update")] != []
    assert "best so far" in result.stderr
    assert regard("evaluate", "runs/plain").exit_code == 0


def test_json_lines_tell_training_validation_and_the_end(here: Path) -> None:
    result = regard("train", "toy", "--out", "runs/json", "--json")
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["update"] for row in told if row["kind"] == "train"] == [2, 4, 6]
    assert [row["update"] for row in told if row["kind"] == "valid"] == [3, 6]
    assert told[-1]["kind"] == "done"
    assert told[-1]["next"] == ["regard predict runs/json", "regard evaluate runs/json"]
    assert any("Learning the tokenizer" in row["text"] for row in told if row["kind"] == "note")


def test_a_run_goes_by_the_name_of_its_recipe_and_is_not_overwritten(here: Path) -> None:
    assert regard("train", "toy", "--set", "train.updates=1").exit_code == 0
    assert (here / "runs" / "toy" / "bundle" / "manifest.json").exists()
    again = regard("train", "toy", "--set", "train.updates=1")
    assert isinstance(again.exception, ConfigError)
    assert "--resume" in str(again.exception)


def test_a_run_named_as_recipe_goes_on_and_for_longer(here: Path) -> None:
    assert regard("train", "toy", "--out", "runs/longer", "--set", "train.updates=3").exit_code == 0
    result = regard("train", "runs/longer", "--set", "train.updates=6")
    assert result.exit_code == 0
    assert "Going on after update 3." in result.stderr
    assert "update 6 of 6" in result.stderr


def test_when_the_minutes_are_over_the_way_to_go_on_is_told(here: Path) -> None:
    result = regard("train", "toy", "--out", "runs/short", "--set", "train.minutes=1e-9")
    assert result.exit_code == 0
    assert "Stopped after update 1" in result.stdout
    assert result.stdout.splitlines()[-1] == "  regard train runs/short"
    assert not (here / "runs" / "short" / "bundle").exists()


def test_a_signal_saves_and_tells_how_to_go_on(toy: Path, tmp_path: Path) -> None:
    signals = {signal.SIGINT: 130, signal.SIGTERM: 143}
    for asked, process in {asked: begun(toy, tmp_path / asked.name) for asked in signals}.items():
        assert process.stderr is not None
        while not process.stderr.readline().startswith("update 2 "):
            assert process.poll() is None
        process.send_signal(asked)
        out, complaint = process.communicate(timeout=120)
        assert process.returncode == signals[asked]
        assert "Traceback" not in complaint
        assert out.splitlines()[-1] == f"  regard train {tmp_path / asked.name}"
        assert list((tmp_path / asked.name / "checkpoints").glob("update-*")) != []


def begun(toy: Path, out: Path) -> subprocess.Popen[str]:
    """A training that goes on for longer than any test."""
    # A job in the background inherits a SIGINT that is ignored; a person's is not.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{heard}; from regard.cli import main; main()"
    changes = ["--set", "train.updates=100000", "--set", "train.log=1", "--set", "train.every=100000"]
    return subprocess.Popen(
        [sys.executable, "-c", program, "train", str(toy / "recipes" / "toy.toml"), "--out", str(out), *changes],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def a_step(update: int, scores: dict[str, float] | None = None, best: bool = False) -> Step:
    progress = Progress(update=update, position=(1, 0), best=30.0, best_update=2)
    return Step(progress, loss=2.5, count=100, rate=1e-3, norm=1.0, scores=scores, best=best, recent=2.25)


def test_a_log_has_plain_lines() -> None:
    console = Console(width=200, record=True, stderr=True, markup=False)
    lines = Lines(console, FitSettings(watch="bleu"))
    lines.step(a_step(4), 10)
    lines.step(a_step(5, {"loss": 2.0, "bleu": 29.0}), 10)
    told = console.export_text().splitlines()
    assert told[0] == "update 4 of 10  epoch 2  loss 2.250"
    assert told[2] == "update 5  validation loss 2.000, bleu 29.00  (best bleu 30.00 at 2)"


@pytest.mark.parametrize("width", [30, 80, 200])
def test_the_live_display_is_two_lines_at_any_width(width: int) -> None:
    console = Console(width=width, force_terminal=True, file=open(os.devnull, "w", encoding="utf-8"), record=True)  # noqa: SIM115
    with console.file:
        display = Terminal(console, FitSettings(watch="bleu"), lambda: False)
        display.step(a_step(4_000), 10_000)
        drawn = console.render_lines(display.drawn(), pad=False)
    text = ["".join(segment.text for segment in line) for line in drawn]
    assert len(text) == 2
    assert "4,000 of 10,000" in text[0]
    assert all(len(line) <= width for line in text)
    assert text[1].startswith("epoch 2 · loss 2.500")


def test_the_live_display_says_that_it_is_stopping() -> None:
    console = Console(width=80)
    display = Terminal(console, FitSettings(), lambda: True)
    display.step(a_step(4), 10)
    assert "stopping after this update" in str(display.doings(a_step(4)))


def test_what_watches_depends_on_where_words_go() -> None:
    found: Watcher = watcher(False, FitSettings(), lambda: False)
    assert isinstance(found, Lines)
