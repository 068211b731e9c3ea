"""The wheel holds the package and nothing else, and what it installs runs."""

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Built from a copy: setuptools leaves files beside its sources and packs what earlier builds left there.
    project = tmp_path_factory.mktemp("project")
    for name in ["pyproject.toml", "README.md", "LICENSE"]:
        shutil.copy(ROOT / name, project)
    shutil.copytree(ROOT / "src" / "regard", project / "src" / "regard", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--no-isolation", str(project)], check=True)
    (built,) = (project / "dist").glob("*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    kept = subprocess.run(
        ["git", "ls-files", "src/regard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert packed == {name.removeprefix("src/") for name in kept.splitlines()}


@pytest.mark.slow
def test_the_wheel_installs_and_imports(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--no-deps", "--no-index", str(wheel)], check=True)
    program = "import regard; print(regard.__version__, regard.__file__)"
    shown = subprocess.run(
        [python, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    version, place = shown.split()
    assert f"-{version}-" in wheel.name
    assert Path(place).is_relative_to(tmp_path)
    assert (tmp_path / "venv" / "bin" / "regard").exists()
