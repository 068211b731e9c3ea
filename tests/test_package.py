"""`import regard` and what it offers."""

import subprocess
import sys

import pytest

import regard


def test_importing_regard_imports_no_torch() -> None:
    call = "import regard, sys; assert 'torch' not in sys.modules; regard.load; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", call], check=True)


@pytest.mark.parametrize("first", ["", "import regard.train; ", "from regard.train import fit; "])
def test_train_can_be_called_and_is_a_package_too(first: str) -> None:
    call = f"{first}import regard; assert callable(regard.train); from regard.train import fit; regard.train.fit"
    subprocess.run([sys.executable, "-W", "error", "-c", call], check=True)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'lod'"):
        _ = regard.lod
