"""One trained run for all tests of the commands."""

from pathlib import Path

import pytest

from tests.cli.toy import OTHERS, regard, write_data


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with toy corpora and `recipes/toy.toml`."""
    folder = tmp_path_factory.mktemp("toy")
    write_data(folder)
    return folder


@pytest.fixture(scope="session")
def run(toy: Path) -> Path:
    """A finished run."""
    folder = toy / "runs" / "x"
    result = regard("train", toy / "recipes" / "toy.toml", "--out", folder)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="session")
def others(toy: Path) -> dict[str, Path]:
    """A finished run of each of some other tasks."""
    runs = {name: toy / "runs" / name for name in OTHERS}
    for name, text in OTHERS.items():
        recipe = toy / f"{name}.toml"
        recipe.write_text(text.format(root=toy), "utf-8")
        result = regard("train", recipe, "--out", runs[name])
        assert result.exit_code == 0, result.output
    return runs


@pytest.fixture
def here(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the toys, and the one commands are typed in."""
    monkeypatch.chdir(toy)
    return toy
