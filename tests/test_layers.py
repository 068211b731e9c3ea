"""Imports point one way only, and nothing in the source can run code hidden in data.

Both are read from the syntax tree, so imports inside functions count like any other.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "regard"
MODULES = sorted(SOURCE.rglob("*.py"))

LAYERS = [
    ["errors"],
    ["config", "files"],
    ["text", "metrics", "attention"],
    ["nn", "starter"],
    ["data", "models", "train"],
    ["decode", "explain"],
    ["tasks"],
    ["convert"],
    ["engines"],
    ["bundle"],
    ["api"],
    ["demo"],
    ["serve"],
    ["cli"],
    ["__init__", "__main__"],
]
LEVEL = {part: level for level, layer in enumerate(LAYERS) for part in layer}

# Tighter than their level: tensors in, tensors out.
ONLY = {
    "attention": {"errors", "config"},
    "nn": {"errors", "config", "attention"},
}
NEVER = {
    "models": {"regard.text", "regard.metrics"},
    "text": {"torch"},
    "metrics": {"torch"},
}

CATCH_ALL_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
UNSAFE_MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml"}
UNSAFE_BUILTINS = {"eval", "exec"}
UNSAFE_TORCH = {"load", "save"}


def part_of(path: Path) -> str:
    """The direct child of `regard` a file belongs to: `regard/nn/crf.py` is part of `nn`."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(tree: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """The dotted names a module imports; `from a import b` gives `a.b`, relative imports are made absolute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def import_faults(path: Path, source: str) -> list[str]:
    """Why this file may not import what it imports."""
    package = ("regard", *path.relative_to(SOURCE).parts[:-1])
    part = part_of(path)
    faults = []
    for name in imported(ast.parse(source), package):
        target = name.split(".")[1] if within(name, "regard") and "." in name else None
        if any(within(name, banned) for banned in NEVER.get(part, ())):
            faults.append(f"{part} never imports {name}")
        elif target in LEVEL and target != part and not allowed(part, target):
            faults.append(f"{part} may not import {name}")
    return faults


def allowed(part: str, target: str) -> bool:
    return LEVEL[target] < LEVEL[part] and target in ONLY.get(part, LEVEL)


def safety_faults(source: str) -> list[str]:
    """Every way this source could run code that came as data, or store data that can."""
    tree = ast.parse(source)
    roots = {name.split(".")[0] for name in imported(tree, ("regard",))}
    faults = [f"imports {name}" for name in sorted(roots & UNSAFE_MODULES)]
    faults += [f"imports {name}" for name in imported(tree, ("regard",)) if name in {"torch.load", "torch.save"}]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in UNSAFE_BUILTINS:
            faults.append(f"line {node.lineno}: {node.id}")
        elif isinstance(node, ast.Attribute) and node.attr in UNSAFE_TORCH and rooted_in_torch(node.value):
            faults.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            faults.append(f"line {node.value.lineno}: allow_pickle")
    return faults


def rooted_in_torch(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "torch"


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_point_one_way(path: Path) -> None:
    assert part_of(path) in LEVEL, f"give {part_of(path)} a place in LAYERS"
    assert import_faults(path, path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_nothing_runs_code_from_data(path: Path) -> None:
    assert safety_faults(path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_annotations_are_evaluated(path: Path) -> None:
    """Postponed annotations are plain strings, and shapes in them are easily left unchecked."""
    assert "__future__.annotations" not in imported(ast.parse(path.read_text("utf-8")), ("regard",))


def test_no_module_is_a_drawer_for_everything() -> None:
    assert [path for path in MODULES if path.stem in CATCH_ALL_NAMES or path.parent.name in CATCH_ALL_NAMES] == []


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("errors.py", "import regard.config"),
        ("attention/heads.py", "from regard.files import read"),
        ("attention/heads.py", "from ..text import spans"),
        ("attention/heads.py", "from .. import nn"),
        ("attention/heads.py", "def late():\n    from regard.nn import losses"),
        ("nn/crf.py", "from regard.starter import corpus"),
        ("data/readers.py", "from regard.models import build"),
        ("models/heads.py", "from regard.text import spans"),
        ("text/spans.py", "from torch.nn import Module"),
        ("train/loop.py", "from regard.tasks import TASKS"),
        ("api.py", "from regard import demo"),
        ("demo.py", "from regard.cli import main"),
        ("serve/app.py", "import regard.cli"),
    ],
)
def test_an_import_against_the_layers_is_found(place: str, source: str) -> None:
    assert len(import_faults(SOURCE / place, source)) == 1


@pytest.mark.parametrize(
    ("place", "source"),
    [
        (
            "attention/heads.py",
            "from regard.errors import ModelError\nfrom .masks import padding\nfrom . import scores",
        ),
        ("nn/crf.py", "import torch\nfrom regard.attention import masks"),
        ("demo.py", "from regard import __version__, api, models"),
        ("cli/app.py", "import regard\nfrom regard.demo import run"),
        ("text/spans.py", "import torchlike"),
    ],
)
def test_an_import_along_the_layers_is_let_through(place: str, source: str) -> None:
    assert import_faults(SOURCE / place, source) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import yaml\nyaml.load",
        "import torch\ntorch.load('x')",
        "import torch\ntorch.jit.load('x')",
        "import torch\ntorch.save({}, 'x')",
        "from torch import load",
        "eval('1')",
        "run = exec",
        "import numpy\nnumpy.load('x', allow_pickle=True)",
    ],
)
def test_an_unsafe_source_is_found(source: str) -> None:
    assert safety_faults(source) != []


@pytest.mark.parametrize(
    "source", ["model.eval()", "import tomllib\ntomllib.load(file)", "safetensors.torch.load_file('x')"]
)
def test_a_safe_source_is_let_through(source: str) -> None:
    assert safety_faults(source) == []
