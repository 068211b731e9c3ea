"""The commands as they are typed: why this and not that, time for methods that take it, an audit of inputs alone."""

import json
from pathlib import Path

import pytest

from regard.errors import RequestError
from tests.cli.toy import regard
from tests.explain.test_pruning import translating


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    translating(folder, heads=2).save(folder / "b")
    return folder / "b"


def test_one_output_is_set_against_another(bundle: Path, tmp_path: Path) -> None:
    asked = ("explain", bundle, "Four sausages", "--target", "Vier Würste", "--method", "occlusion")
    result = regard(*asked, "--instead", "Fünf Würste", "--pieces", "--out", tmp_path / "why.json")
    assert result.exit_code == 0, result.output
    assert " not " in json.loads((tmp_path / "why.json").read_text("utf-8"))["outputs"]["units"][0]["text"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--seconds", "1"], "draws nothing, so --seconds is nothing to it; use it with lime, shapley, permutation"),
        (["--seconds", "1", "--method", "norms"], "Method norms draws nothing"),
        (["--seconds", "1", "--method", "lmie"], "Did you mean 'lime'?"),
        (["--target", "Vier", "--instead", "Vier"], "nothing to set against it"),
        (["--target", "Vier", "--instead", "Fünf", "--method", "weights"], "does not tell two outputs apart"),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_sentence(bundle: Path, options: list[str], told: str) -> None:
    result = regard("explain", bundle, "Four", *options)
    assert isinstance(result.exception, RequestError)
    assert told in str(result.exception)


def test_an_audit_needs_no_references(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "input.en").write_text("Four sausages\nThank you.\n", "utf-8")
    quick = [f"--set=audit.{name}" for name in ("few=1", "tries=1", "permutations=1", "randoms=1", "steps=1")]
    result = regard("audit", bundle, tmp_path / "input.en", *quick, "--out", tmp_path / "audit.json")
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "audit.json").read_text("utf-8"))
    assert found["texts"] == 2
    assert found["heads"]["texts"] == 1
