"""One vector a row from the encoder of any model that has one: the mean of its states over all that is read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.errors import RequestError
from regard.tasks.grouping import blocks, for_reading, in_groups
from regard.tasks.sides import sources

# What an encoder reads at once of a row: all of it, or a part.
Part = TypeVar("Part")


class States(NamedTuple):
    """What an encoder makes of parts, and which of it is real."""

    states: Float[Tensor, "B T D"]
    real: Bool[Tensor, "B T"]


def no_vectors(task: str) -> RequestError:
    """Why a task has no vectors."""
    return RequestError(f"The task {task} gives no vectors of whole texts; use a model with an encoder.")


def too_long(text: str, longest: int | None) -> RequestError:
    """Why a row that is refused has no vector: none would be told from that of another."""
    return RequestError(
        f"{text[:40]!r} is longer than predict.longest = {longest}, and predict.long = refuse; set predict.long "
        "otherwise, or leave the text out."
    )


def of_pieces(model: Any, rows: Iterable[Sequence[Sequence[int]]], recipe: Any) -> Iterator[Float[Tensor, " D"]]:
    """The vector of each row, whose parts are pieces as the encoder is given them."""

    def read(parts: list[Sequence[int]]) -> States:
        pieces_BT, real_BT = sources(parts, next(model.parameters()).device)
        return States(model.encoder(pieces_BT, real_BT), real_BT)

    return means(model, rows, recipe, len, read)


def means(
    model: Any,
    rows: Iterable[Sequence[Part]],
    recipe: Any,
    size: Callable[[Part], int],
    read: Callable[[list[Part]], States],
) -> Iterator[Float[Tensor, " D"]]:
    """The mean of the states `read` gives for the parts of each row, every state alike; zeros where there is none."""
    if not hasattr(model, "encoder"):
        raise no_vectors(recipe.task)
    settings = for_reading(recipe.predict, next(model.parameters()).device)

    @torch.inference_mode()
    def summed(parts: list[Part]) -> list[tuple[Float[Tensor, " D"], int]]:
        model.eval()
        states_BTD, real_BT = read(parts)
        sums_BD = (states_BTD * real_BT[..., None]).sum(1).cpu()
        return list(zip(sums_BD, real_BT.sum(1).tolist(), strict=True))

    for block in blocks(rows):
        coming = iter(in_groups([part for row in block for part in row], size, settings, summed))
        for row in block:
            found = list(islice(coming, len(row)))
            total = sum((one for one, _ in found), torch.zeros(int(model.encoder.width)))
            yield total / max(sum(count for _, count in found), 1)
