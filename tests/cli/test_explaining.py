"""`regard explain` and `regard align` where they are of a data set: importance, and expected quality."""

from pathlib import Path

import jaxtyping
import pytest

from regard.errors import DataError, RequestError
from tests.cli.toy import regard


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_importance_over_a_test_set_is_shown(run: Path) -> None:
    result = regard(
        "explain", run, "held", "--method", "permutation", "--set=explain.samples=3", "--set=explain.words=2"
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Permutation")
    assert "all of source" in result.stdout
    assert "6 rows" in result.stdout


def test_what_cannot_be_is_told_before_the_model_is_asked(run: Path, tmp_path: Path) -> None:
    ending = regard("explain", run, "the dog", "--out", tmp_path / "x.bmp")
    assert "Cannot write an explanation as '.bmp'" in str(ending.exception)
    method = regard("explain", run, "the dog", "--method", "permutaton")
    assert "Did you mean 'permutation'?" in str(method.exception)


def test_words_without_quotes_are_told_from_one_text(run: Path) -> None:
    result = regard("explain", run, "the", "dog")
    assert isinstance(result.exception, RequestError)
    assert "put one in quotes" in str(result.exception)


def test_a_quality_is_expected_of_every_line(run: Path, toy: Path, tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("the dog\n\nthe cat sees\n", "utf-8")
    known = toy / "train.en", toy / "train.de"
    result = regard("align", run, tmp_path / "input.txt", "--calibrate", *known)
    assert result.exit_code == 0, result.output
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert len(rows) == 3
    assert rows[1] == ["", ""]
    assert all(0 <= float(rows[number][0]) <= 1 for number in (0, 2))
    assert "rank correlation" in result.stderr


def test_too_few_lines_to_learn_from_are_told(run: Path, toy: Path) -> None:
    result = regard("align", run, toy / "test.en", "--calibrate", toy / "test.en", toy / "test.de")
    assert isinstance(result.exception, DataError)
    assert "give 20 or more" in str(result.exception)
