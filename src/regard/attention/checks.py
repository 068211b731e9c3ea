"""What a user may get wrong when calling attention, each told in one sentence."""

from torch import Tensor

from regard.attention.masks import Mask
from regard.attention.memory import Memory
from regard.attention.places import Sizes
from regard.errors import ModelError


def check_memory(keys: Tensor, values: Tensor, real: Tensor | None, sizes: Sizes) -> None:
    if keys.shape[2] == 0:
        raise ModelError("There are no keys to attend to (length 0); give every example at least one piece.")
    if keys.shape[-1] != sizes.key or values.shape[-1] != sizes.value:
        raise ModelError(
            f"Keys and values have widths {keys.shape[-1]} and {values.shape[-1]}, this attention was built for "
            f"{sizes.key} and {sizes.value}."
        )
    if real is not None and real.shape != (keys.shape[0], keys.shape[2]):
        raise ModelError(
            f"The mask of real keys has shape {tuple(real.shape)}, expected batch x keys = "
            f"{(keys.shape[0], keys.shape[2])}."
        )


def check_query(query: Tensor, memory: Memory, mask: Mask, sizes: Sizes) -> None:
    rows, heads, queries, width = query.shape
    if (heads, width) != (sizes.heads, sizes.query):
        raise ModelError(
            f"Queries come as {heads} heads of width {width}, this attention was built for {sizes.heads} of width "
            f"{sizes.query}."
        )
    if queries == 0:
        raise ModelError("There is no query (length 0); give at least one.")
    if rows % memory.keys.shape[0]:
        raise ModelError(f"{rows} rows of queries do not share {memory.keys.shape[0]} memories evenly.")
    if mask.pairs is not None:
        _check_pairs(mask.pairs, (memory.keys.shape[0], heads, queries, memory.size))


def _check_pairs(pairs: Tensor, wanted: tuple[int, int, int, int]) -> None:
    fits = all(have in (1, want) for have, want in zip(pairs.shape[:3], wanted, strict=False))
    if not fits or pairs.shape[3] != wanted[3]:
        raise ModelError(
            f"The mask has shape {tuple(pairs.shape)}, expected batch x heads x queries x keys = {wanted}, "
            "with 1 where all share it."
        )
