"""The packages onnx and onnxruntime, which are there only where someone wants them."""

from importlib import import_module
from typing import Any

from regard.errors import ConfigError


def runtime() -> Any:
    """The package onnxruntime; torch writes graphs through onnx, so that one has to be there too."""
    try:
        import_module("onnx")
        return import_module("onnxruntime")
    except ImportError as error:
        raise ConfigError(f"{error.name} is not installed; pip install 'regard[export]' brings it.") from None
