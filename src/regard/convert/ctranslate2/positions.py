"""Positions inside attention as CTranslate2 has them."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from regard.attention.positions import Rates

# What numbers of half the bits leave of how far a plane turns is another turn after a few hundred positions.
HALVES = ("float16", "bfloat16")


def fill_stretch(spec: Any, rates: Rates) -> None:
    """A factor for each plane, whatever the formula: CTranslate2's specs (4.8) have no place for that of Llama's."""
    spec.rotary_scaling_long_factor = slower(rates)
    spec.rotary_scaling_short_factor = slower(rates)


def slower(rates: Rates) -> Float[np.ndarray, " F"]:
    """How many times slower each plane is turned for being stretched."""
    plain_F = 1.0 / rates.base ** (torch.arange(0, rates.width, 2, dtype=torch.float64) / rates.width)
    stretched_F = plain_F if rates.stretch is None else rates.stretch(plain_F)
    return (plain_F / stretched_F).float().numpy()
