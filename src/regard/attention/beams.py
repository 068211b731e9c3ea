"""Several beams of one source as several rows of one query: the source's keys and values are never copied."""

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from regard.attention.masks import Mask
from regard.attention.memory import Attended, History
from regard.attention.places import At, length, positions
from regard.errors import ModelError


def fold(tensor: Shaped[Tensor, "R H Q X"], beams: int) -> Shaped[Tensor, "B H P X"]:
    rows, heads, queries, width = tensor.shape
    return tensor.view(rows // beams, beams, heads, queries, width).transpose(1, 2).reshape(
        rows // beams, heads, beams * queries, width
    )  # fmt: skip


def spread_back(tensor: Shaped[Tensor, "B H P X"], beams: int) -> Shaped[Tensor, "R H Q X"]:
    batch, heads, folded, width = tensor.shape
    queries = folded // beams
    return tensor.view(batch, heads, beams, queries, width).transpose(1, 2).reshape(
        batch * beams, heads, queries, width
    )  # fmt: skip


def as_is(tensor: Shaped[Tensor, "R H Q X"], beams: int) -> Shaped[Tensor, "R H Q X"]:
    """What needs no folding."""
    return tensor


def fold_places(at: At, rows: int, beams: int, device: torch.device) -> Int[Tensor, "#B P"]:
    places = positions(at, device)
    if places.shape[0] == 1:
        return places.repeat(1, beams)
    return places.reshape(rows // beams, beams * length(at))


def fold_mask(mask: Mask) -> Mask:
    if mask.pairs is not None and mask.pairs.shape[2] > 1:
        raise ModelError("A mask of pairs cannot be shared by several beams of one source; use padding or a band.")
    return mask


def fold_history(history: History | None, beams: int) -> History | None:
    return None if history is None else History(fold(history.weights, beams), fold(history.total, beams))


def unfold(attended: Attended, beams: int) -> Attended:
    history = attended.history
    return Attended(
        spread_back(attended.context, beams),
        None if history is None else History(spread_back(history.weights, beams), spread_back(history.total, beams)),
        None if attended.weights is None else spread_back(attended.weights, beams),
        None if attended.used is None else spread_back(attended.used, beams),
        None if attended.scores is None else spread_back(attended.scores, beams),
    )
