"""The package ctranslate2, which is there only where someone wants it."""

from importlib import import_module
from typing import Any

from regard.errors import ConfigError


def library() -> Any:
    """The package itself."""
    try:
        return import_module("ctranslate2")
    except ImportError:
        raise ConfigError("ctranslate2 is not installed; pip install 'regard[export]' brings it.") from None
