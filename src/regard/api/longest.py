"""The longest examples, seen by a model before it learns: one without positions must not end a run hours later."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Integer
from torch import nn

from regard.data import Examples, Joined
from regard.errors import ModelError
from regard.nn import native
from regard.tasks import Task


def see(task: Task, model: nn.Module, examples: Examples | Joined, limit: int | None, name: str) -> None:
    """A ModelError where one of the examples cannot be read; nothing is learned, and no luck drawn."""
    device = next(model.parameters()).device
    tables = examples.lengths if isinstance(examples, Joined) else [examples.lengths]
    model.eval()
    with torch.no_grad(), torch.random.fork_rng(devices=[]), native.without():
        for number in longest(tables, limit):
            try:
                task.loss(model, task.batch([examples[number]], device), 0.0)
            except ModelError as error:
                raise ModelError(f"The longest example of {name}: {error} Or leave it out: batches.longest.") from None


def longest(tables: Sequence[Integer[np.ndarray, "N C"]], limit: int | None) -> list[int]:
    """The numbers of the examples longest in one of their columns, or in all together, but for what no batch holds.

    >>> longest([np.array([[1, 9], [5, 5]]), np.array([[7, 1], [60, 1]])], limit=50)
    [0, 2]
    """
    best: dict[int, tuple[int, int]] = {}
    start = 0
    for table in filter(len, tables):
        held = 1 if limit is None else table.max(1) <= limit
        for column, lengths in enumerate([*table.T, table.sum(1)]):
            place = int((lengths * held).argmax())
            best[column] = max(best.get(column, (0, 0)), (int((lengths * held)[place]), start + place))
        start += len(table)
    return sorted({number for length, number in best.values() if length})
