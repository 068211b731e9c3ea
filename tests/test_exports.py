"""What each package offers by name. After a deliberate change: `python tests/test_exports.py --write`."""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import regard

GOLDEN = Path(__file__).parent / "golden" / "exports.txt"


def modules() -> Iterator[ModuleType]:
    yield regard
    for found in pkgutil.walk_packages(regard.__path__, "regard."):
        if not found.name.endswith(".__main__"):
            yield importlib.import_module(found.name)


def exporting() -> list[ModuleType]:
    return [module for module in modules() if hasattr(module, "__all__")]


def exports() -> str:
    """One dotted name per line for every package (a module's own list is its author's business)."""
    packages = (module for module in exporting() if hasattr(module, "__path__"))
    return "".join(f"{package.__name__}.{name}\n" for package in packages for name in package.__all__)


def place(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: the order `ruff check --fix` writes."""
    if len(name) > 1 and name.isupper():
        return 0, name
    return (1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("module", exporting(), ids=lambda module: module.__name__)
def test_every_exported_name_exists_once_and_in_order(module: ModuleType) -> None:
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert list(module.__all__) == sorted(set(module.__all__), key=place)


def test_every_package_says_what_it_exports() -> None:
    assert [package.__name__ for package in modules() if hasattr(package, "__path__")] == [
        package.__name__ for package in exporting() if hasattr(package, "__path__")
    ]


def test_exports_are_the_ones_agreed_on() -> None:
    agreed = GOLDEN.read_text("utf-8")
    assert exports() == agreed, "if this is meant: python tests/test_exports.py --write"


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/test_exports.py --write")
    GOLDEN.write_text(exports(), "utf-8")
