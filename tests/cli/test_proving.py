"""Promises and preflight from the command line: the findings, and the exit code."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.api.checks import PROMISES
from regard.api.findings import Finding
from regard.errors import ConfigError
from regard.metrics import METRICS
from tests.cli.toy import regard


def test_a_promise_is_proven_on_a_bundle(run: Path) -> None:
    result = regard("check", run, "round_trip")
    assert result.exit_code == 0
    assert result.stdout.startswith("kept  round_trip  ")
    told = json.loads(regard("check", run, "masks", "--json").stdout)
    assert (told["name"], told["kept"]) == ("masks", True)


def test_a_broken_promise_leaves_with_1(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.api.checks.check", lambda *_: [Finding("error", "looking", "it changed something.")])
    result = regard("check", run)
    assert result.exit_code == 1
    assert result.stdout == "BROKEN  looking  it changed something.\n"


def test_an_unknown_promise_is_offered_the_nearest(run: Path) -> None:
    result = regard("check", run, "lokking")
    assert isinstance(result.exception, ConfigError)
    assert "Did you mean 'looking'?" in str(result.exception)
    assert "looking" in PROMISES


def test_preflight_tells_what_it_found_and_what_to_type_next(here: Path) -> None:
    result = regard("preflight", "toy")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "  regard train toy"


def test_preflight_leaves_with_1_where_a_file_is_missing(here: Path) -> None:
    result = regard("preflight", "toy", "--set", "data.valid.files.source=gone.en", "--json")
    assert result.exit_code == 1
    assert "gone.en" in " ".join(found["text"] for found in json.loads(result.stdout)["findings"])


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Parts of one's own that are gone after the test."""
    monkeypatch.setattr("regard.api.extending._LOADED", {})
    yield
    METRICS.pop("my_exact", None)


@pytest.mark.usefixtures("forgetful")
def test_own_parts_join_from_a_file(tmp_path: Path, run: Path) -> None:
    missing = regard("predict", run, "--extend", tmp_path / "parts.py")
    assert isinstance(missing.exception, ConfigError)
    assert "parts.py" in str(missing.exception)
    own = tmp_path / "own.py"
    own.write_text("from regard.metrics.edits import Exact\n\nMETRICS = {'my_exact': Exact}\n")
    result = regard("evaluate", run, "--extend", own, "--set", 'metrics=["my_exact"]', "--json")
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout)["scores"].keys() == {"my_exact"}
