"""Train, run, explain and serve sequence models built on attention.

import regard

model = regard.load("runs/x")
model.predict(["A dog."])[0].text
regard.train("recipes/multi30k-en-de.toml", out="runs/mine")
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["__version__", "load", "train"]

__version__ = "0.4.0"


class _Called(ModuleType):
    """The package `regard.train`, which can also be called: `regard.train(recipe, out)` is `regard.api.train`."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return import_module("regard.api").train(*given, **named)


class _Package(ModuleType):
    """This package; whoever imports `regard.train` first, it can be called from then on."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "train" and isinstance(value, ModuleType):
            value.__class__ = _Called
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """`load` and `train` when they are first asked for: importing regard alone imports no torch."""
    if name == "load":
        return import_module("regard.api").load
    if name == "train":
        return import_module("regard.train")
    raise AttributeError(f"module 'regard' has no attribute {name!r}")
