"""The type checker the import hook puts on every function of regard while tests run."""

from collections.abc import Callable
from typing import Any, Self

from beartype import beartype


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """beartype, except that Self passes: the hook decorates methods before there is a class for it to mean."""
    function.__annotations__ = {name: Any if hint is Self else hint for name, hint in function.__annotations__.items()}
    return beartype(function)
