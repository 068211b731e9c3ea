"""Recipes, bundles and completion: what is there, told without loading it."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard import bundle
from regard.api import recipes
from regard.cli import completing, shelf
from regard.cli.app import app
from regard.errors import ConfigError
from tests.cli.toy import regard


def test_recipes_are_listed_with_their_first_line(here: Path) -> None:
    result = regard("recipes")
    assert result.stdout == "toy  Word for word\n"


def test_a_recipe_is_shown_with_its_header_and_path(here: Path) -> None:
    result = regard("recipes", "toy")
    assert result.stdout.splitlines() == ["recipes/toy.toml", "", "Word for word", "", "command   regard train toy"]
    assert json.loads(regard("recipes", "toy", "--json").stdout)["path"] == "recipes/toy.toml"


def test_a_recipe_that_is_not_utf_8_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "latin.toml").write_bytes("# Für später\n".encode("latin-1"))
    (tmp_path / "recipes" / "toy.toml").write_text("# Word for word\n")
    assert regard("recipes").stdout == "latin  F\ufffdr sp\ufffdter\ntoy    Word for word\n"
    assert recipes.header(Path("recipes/latin.toml")) == ["F\ufffdr sp\ufffdter"]


def test_the_shelf_is_what_the_api_finds(here: Path) -> None:
    assert shelf.at_hand() == recipes.at_hand()
    told = [line.strip() for line in shelf.header(here / "recipes" / "toy.toml")]
    assert told == [line.strip() for line in recipes.header(here / "recipes" / "toy.toml")]


def test_an_unknown_recipe_is_offered_the_nearest(here: Path) -> None:
    result = regard("recipes", "tyo")
    assert isinstance(result.exception, ConfigError)
    assert "Did you mean 'toy'?" in str(result.exception)


def test_where_there_is_no_recipe_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = regard("recipes")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "There is no recipe here" in result.stderr


def test_listing_recipes_imports_no_torch(toy: Path) -> None:
    program = """
import sys
from regard.cli import main
try:
    main()
except SystemExit:
    pass
print("heavy:", sorted({"torch", "numpy"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "recipes"], capture_output=True, text=True, cwd=toy, check=True
    )
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_a_bundle_is_described_without_its_parameters(run: Path) -> None:
    told = json.loads(regard("inspect", run, "--json").stdout)
    counts = [parameter.shape for parameter in bundle.shapes(run / "bundle")]
    assert told["task"] == "translation"
    assert told["model"]["width"] == 16
    assert told["parameters"]["all"] == told["facts"]["parameters"]
    assert sum(told["parameters"].values()) == 2 * told["parameters"]["all"]
    assert len(counts) > 10
    assert told["tokenizers"][0].startswith("characters")
    assert told["scores"]["valid"].keys() == {"bleu", "chrf"}
    assert told["files"]["parameters.safetensors"] == (run / "bundle" / "parameters.safetensors").stat().st_size


def test_a_description_can_be_read(run: Path) -> None:
    told = regard("inspect", run / "bundle").stdout
    for words in (
        "translation",
        "transformer width=16",
        "encoder.embedding",
        "characters",
        "nrefs:1",
        "parameters.safet",
    ):
        assert words in told


def test_a_score_that_is_no_number_is_shown_as_such(run: Path, tmp_path: Path) -> None:
    stored = bundle.load(run / "bundle")
    endless = {"valid": {"perplexity": {"value": float("inf"), "signature": "per:piece"}}}
    bundle.save(tmp_path / "endless", replace(stored, scores=endless))
    assert "no number  per:piece" in regard("inspect", tmp_path / "endless").stdout


def test_recipes_runs_and_settings_are_completed(here: Path, run: Path) -> None:
    assert completing.recipes("to") == ["toy"]
    assert "runs/x" in completing.bundles("runs/")
    assert completing.recipes("zzz") == []
    assert set(completing.promises("lo")) == {"looking"}
    assert {"toy", "runs/x"} <= set(completing.targets(""))


@pytest.mark.parametrize(("typed", "wanted"), [("toy", "model.width="), ("runs/x", "search.beams=")])
def test_a_tab_after_set_offers_settings(here: Path, run: Path, typed: str, wanted: str) -> None:
    asked = {"_REGARD_COMPLETE": "complete_bash", "COMP_WORDS": f"regard predict {typed} --set {wanted[:7]}"}
    result = CliRunner(env={**asked, "COMP_CWORD": "4"}).invoke(app, prog_name="regard")
    assert wanted in result.stdout.split()
