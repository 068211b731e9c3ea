"""Positions inside attention as CTranslate2 has them."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import MultiHeadAttention
from regard.attention.places import Place
from regard.attention.positions import Rates

# What numbers of half the bits leave of how far a plane turns is another turn after a few hundred positions.
HALVES = ("float16", "bfloat16")

# As far as ALiBi's line is drawn: a decoder draws so much of it at a time, and whatever is beyond is not looked after.
LINE = 2048


def fill_distances(spec: Any, attention: MultiHeadAttention, ahead: bool) -> None:
    """T5's table with a row for every distance, so that no rounding puts one into another's bucket."""
    bias_XH = biases(attention)
    reach = len(bias_XH) // 2
    table_YH = _side(bias_XH[: reach + 1].flip(0))
    if ahead:
        table_YH = torch.cat([table_YH, _side(bias_XH[reach:])])
    spec.relative_attention_bias = table_YH.float().cpu().contiguous().numpy().copy()
    spec.relative_attention_max_distance = np.int32(2 * reach)


@torch.no_grad()
def biases(attention: MultiHeadAttention) -> Float[Tensor, "X H"]:
    """What is added to the scores at each distance, from as far behind as it differs to as far ahead."""
    position: Any = attention.mechanism.position
    reach = getattr(position, "farthest", LINE)
    query = torch.zeros(1, attention.heads, 1, 1, device=attention.query.weight.device)
    place = Place(range(reach, reach + 1), range(2 * reach + 1), slice(0, 1), slice(0, 2 * reach + 1), query.device)
    return position.bias(query, place)[0, :, 0].T


def _side(bias: Float[Tensor, "X H"]) -> Float[Tensor, "Y H"]:
    """The biases of the distances from zero on, and as often the last, which all have that are farther."""
    return torch.cat([bias[:-1], bias[-1:].expand(len(bias) - 1, -1)])


def fill_stretch(spec: Any, rates: Rates) -> None:
    """A factor for each plane, whatever the formula: CTranslate2's specs (4.8) have no place for that of Llama's."""
    spec.rotary_scaling_long_factor = slower(rates)
    spec.rotary_scaling_short_factor = slower(rates)


def slower(rates: Rates) -> Float[np.ndarray, " F"]:
    """How many times slower each plane is turned for being stretched."""
    plain_F = 1.0 / rates.base ** (torch.arange(0, rates.width, 2, dtype=torch.float64) / rates.width)
    stretched_F = plain_F if rates.stretch is None else rates.stretch(plain_F)
    return (plain_F / stretched_F).float().numpy()
