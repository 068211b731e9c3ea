"""A promise that did not hold, and the comparisons that find it."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor

# What is compared of a part (its kind, name and settings), in words; or it raises.
Clause: TypeAlias = Callable[[str, str, Mapping[str, Any]], str]

# What rounding may change in single precision, relative to the largest number where that is above one.
ROUNDING = 1e-5


class Broken(Exception):
    """What was promised and did not hold, in a sentence."""


def require(held: bool, otherwise: str) -> None:
    """Broken with this sentence unless it held."""
    if not held:
        raise Broken(otherwise)


def distance(found: Tensor, expected: Tensor) -> float:
    """The largest difference, relative to the largest number where that is above one; shapes must be equal."""
    require(found.shape == expected.shape, f"shape {tuple(found.shape)} where {tuple(expected.shape)} was expected")
    if not expected.numel():
        return 0.0
    off = (found.double() - expected.double()).abs().max()
    return float(off / expected.double().abs().max().clamp(min=1.0))


def near(found: Tensor, expected: Tensor, what: str, tolerance: float = ROUNDING) -> float:
    """How far apart they are, Broken if that is more than rounding."""
    off = distance(found, expected)
    require(off <= tolerance, f"{what}: off by {off:.1e}, at most {tolerance:.0e} is rounding.")
    return off


def same(found: Tensor, expected: Tensor, what: str) -> None:
    """Broken unless they are equal bit for bit."""
    require(torch.equal(found, expected), f"{what}: not the same bits.")
