"""`regard audit`: a verdict on a terminal, a page or JSON, of files or of the recipe's own test sets."""

import json
from pathlib import Path

import jaxtyping
import pytest

from regard.errors import ConfigError, RegardError
from tests.cli.toy import regard

QUICK = [
    f"--set=audit.{setting}" for setting in ("rows=2", "few=1", "permutations=2", "tries=2", "randoms=2", "steps=2")
]


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_the_answer_stands_on_the_first_line_and_the_cost_beside_it(run: Path) -> None:
    result = regard("audit", run, *QUICK)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Is attention an explanation for this model? Too few texts.")
    assert "cross-attention, layer 0 of 1, mean of 2 heads" in result.stdout
    assert "2 texts, " in result.stderr
    assert "versions of them to score: about" in result.stderr


def test_another_bundle_is_compared_with_and_all_is_written_as_json(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    result = regard("audit", run, "held", "--also", run, "--out", out, *QUICK)
    assert result.exit_code == 0, result.output
    found = json.loads(out.read_text("utf-8"))
    assert found["texts"] == 2
    # A model agrees with itself.
    assert [one["value"] for one in found["seeds"].values()] in ([pytest.approx(1)], [])
    assert 0 <= found["exchanges"]["permuted"]["flips"] <= 1
    assert f"The audit is in {out}." in result.stderr


def test_nasty_texts_are_audited_or_left_out_but_never_break_a_page(run: Path, tmp_path: Path) -> None:
    nasty = ['<b>the dog</b> & "cat"', "\u202ethe red", "the " * 40, "\U0001f600 e\u0301"]
    for side in ("en", "de"):
        (tmp_path / f"nasty.{side}").write_text("".join(f"{text}\n" for text in nasty), "utf-8")
    out = tmp_path / "audit.html"
    result = regard(
        "audit", run, tmp_path / "nasty.en", tmp_path / "nasty.de", "--out", out, *QUICK, "--set=audit.rows=4"
    )
    assert result.exit_code == 0, result.output
    page = out.read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<b>" not in page
    assert "\u202e" not in page


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--out", "audit.pdf"], "cannot be written as .pdf; use .html"),
        (["--set=audit.layer=9"], "There is no layer 9"),
        (["--set=audit.rosw=9"], "Did you mean 'rows'?"),
        (["--set=audit.rows=0"], "rows = 0"),
        (["--seconds=-1"], "seconds"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(run: Path, options: list[str], told: str) -> None:
    result = regard("audit", run, *options)
    assert isinstance(result.exception, RegardError)
    assert told in str(result.exception)


def test_an_empty_file_is_refused(run: Path, tmp_path: Path) -> None:
    for side in ("en", "de"):
        (tmp_path / f"none.{side}").write_text("", "utf-8")
    result = regard("audit", run, tmp_path / "none.en", tmp_path / "none.de")
    assert isinstance(result.exception, RegardError)
    assert not isinstance(result.exception, ConfigError)
