"""Many inputs through a model a batch at a time, those of similar length together, given back in their order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import torch
from pydantic import PositiveInt

from regard.config import Settings

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

# How many rows are taken in before any is given out: enough to batch by length, little enough for any file.
WINDOW = 2048
# An encoder on a processor reads texts faster so many pieces at a time than more, which are padded more.
AT_ONCE = 1024


class GroupSettings(Settings):
    """The most rows of a batch, and the most padded pieces; what only reads may take fewer where that is faster."""

    rows: PositiveInt = 64
    tokens: PositiveInt = 16_384


def for_reading(settings: GroupSettings, device: torch.device) -> GroupSettings:
    """What an encoder is best given at once, within the settings."""
    tokens = min(settings.tokens, AT_ONCE) if device.type == "cpu" else settings.tokens
    return GroupSettings(rows=settings.rows, tokens=tokens)


def blocks(rows: Iterable[Item], size: int = WINDOW) -> Iterator[list[Item]]:
    """The rows some at a time."""
    coming = iter(rows)
    while block := list(islice(coming, size)):
        yield block


def in_groups(
    items: Sequence[Item],
    length: Callable[[Item], int],
    settings: GroupSettings,
    run: Callable[[list[Item]], Sequence[Outcome]],
) -> list[Outcome]:
    """What `run` makes of every item, run on groups of similar length, in the order of the items."""
    lengths = [length(item) for item in items]
    found: dict[int, Outcome] = {}
    for group in groups(lengths, settings):
        found.update(zip(group, run([items[number] for number in group]), strict=True))
    return [found[number] for number in range(len(items))]


def groups(lengths: Sequence[int], settings: GroupSettings) -> Iterator[list[int]]:
    """The numbers of the items group by group, the longest first.

    >>> list(groups([3, 9, 1, 8], GroupSettings(rows=2, tokens=100)))
    [[1, 3], [0, 2]]
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    start = 0
    while start < len(order):
        rows = min(settings.rows, max(1, settings.tokens // max(lengths[order[start]], 1)))
        yield order[start : start + rows]
        start += rows
