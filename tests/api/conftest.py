"""A trained toy model, made once."""

from pathlib import Path

import pytest

from regard.api import Pipeline, load, train
from tests.api.toy import recipe


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    train(recipe(folder / "data"), folder / "run")
    return folder / "run"


@pytest.fixture(scope="session")
def model(run: Path) -> Pipeline:
    return load(run, verify=True)
