"""What a user may get wrong when calling attention, each told in one sentence."""

import torch
from torch import Tensor

from regard.attention.masks import Mask
from regard.attention.memory import Memory
from regard.attention.places import At, Sizes
from regard.errors import ModelError


def check_memory(keys: Tensor, values: Tensor, real: Tensor | None, at: At, sizes: Sizes) -> None:
    batch, groups, size, width = keys.shape
    _check_size(size)
    if (width, values.shape[-1]) != (sizes.key, sizes.value):
        raise ModelError(
            f"Keys and values have widths {width} and {values.shape[-1]}, this attention was built for "
            f"{sizes.key} and {sizes.value}."
        )
    if groups != sizes.groups or values.shape[:3] != keys.shape[:3]:
        raise ModelError(
            f"Keys and values come as batch x groups x length = {tuple(keys.shape[:3])} and "
            f"{tuple(values.shape[:3])}; give {sizes.groups} groups, and a value to every key."
        )
    _check_keys(real, (batch, size))
    _check_places("keys", at, (batch, size))


def check_query(query: Tensor, memory: Memory, mask: Mask, at: At, sizes: Sizes) -> None:
    rows, heads, queries, width = query.shape
    sources = memory.keys.shape[0]
    if (heads, width) != (sizes.heads, sizes.query):
        raise ModelError(
            f"Queries come as {heads} heads of width {width}, this attention was built for {sizes.heads} of width "
            f"{sizes.query}."
        )
    if queries == 0:
        raise ModelError("There is no query (length 0); give at least one.")
    _check_size(memory.size)
    if rows == 0 or sources == 0 or rows % sources:
        raise ModelError(
            f"{rows} rows of queries do not share {sources} memories evenly; give each as many, 1 or more."
        )
    _check_keys(mask.keys, (sources, memory.size))
    _check_pairs(mask.pairs, (sources, heads, queries, memory.size))
    _check_places("queries", at, (rows, queries))


def _check_size(keys: int) -> None:
    # torch's flash operator divides by the number of keys and takes the whole process with it.
    if keys == 0:
        raise ModelError("There are no keys to attend to (length 0); give every example at least one piece.")


def _check_keys(real: Tensor | None, wanted: tuple[int, int]) -> None:
    if real is not None and (real.shape != wanted or real.dtype != torch.bool):
        raise ModelError(
            f"The mask of real keys is {real.dtype} of shape {tuple(real.shape)}, expected torch.bool of "
            f"batch x keys = {wanted}, where True = real."
        )


def _check_pairs(pairs: Tensor | None, wanted: tuple[int, int, int, int]) -> None:
    if pairs is None:
        return
    fits = all(have in (1, want) for have, want in zip(pairs.shape[:3], wanted, strict=False))
    if not fits or pairs.shape[3] != wanted[3]:
        raise ModelError(
            f"The mask has shape {tuple(pairs.shape)}, expected batch x heads x queries x keys = {wanted}, "
            "with 1 where all share it."
        )


def _check_places(what: str, at: At, wanted: tuple[int, int]) -> None:
    rows, size = wanted
    if isinstance(at, range):
        fits, found = len(at) == size and at.step == 1 and at.start >= 0, str(at)
    else:
        fits, found = at.shape in ((1, size), (rows, size)), f"a tensor of shape {tuple(at.shape)}"
    if not fits:
        raise ModelError(
            f"The positions of the {what} are {found}; give a range of {size} in steps of 1 that starts at 0 or above, "
            f"or a tensor of 1 or {rows} x {size}, below zero where a position is unknown."
        )
