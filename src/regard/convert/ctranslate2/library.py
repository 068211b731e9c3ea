"""The package ctranslate2, which is there only where someone wants it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from regard.errors import ConfigError


def library() -> Any:
    """The package itself."""
    try:
        return import_module("ctranslate2")
    except ImportError:
        raise ConfigError("ctranslate2 is not installed; pip install 'regard[export]' brings it.") from None


@contextmanager
def quietly() -> Iterator[None]:
    """Without its warnings on the terminal, where what they say is told otherwise."""
    known = library()
    before = known.get_log_level()
    known.set_log_level(logging.ERROR)
    try:
        yield
    finally:
        known.set_log_level(before)
