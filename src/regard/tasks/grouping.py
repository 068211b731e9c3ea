"""Many inputs through a model a batch at a time, those of similar length together, given back in their order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from typing import TypeVar

import torch
from pydantic import PositiveInt

from regard.config import Settings
from regard.nn import native

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
    callers: int = 1,
) -> list[Outcome]:
    """What `run` makes of every item, run on groups of similar length, in the order of the items.

    Several callers run a group each, in threads of their own: one searches while another computes.
    """
    if len(items) == 1:
        return list(run(list(items)))
    lengths = [length(item) for item in items]
    together = list(groups(lengths, settings))
    given = [[items[number] for number in group] for group in together]
    found: dict[int, Outcome] = {}
    for group, outcomes in zip(together, _each(run, given, min(callers, len(given))), strict=True):
        found.update(zip(group, outcomes, strict=True))
    return [found[number] for number in range(len(items))]


def _each(
    run: Callable[[list[Item]], Sequence[Outcome]], given: Sequence[list[Item]], callers: int
) -> Iterator[Sequence[Outcome]]:
    if callers < 2:
        yield from map(run, given)
        return

    def alone(group: list[Item]) -> Sequence[Outcome]:
        with native.sharing(max(native.threads() // callers, 1)):
            return run(group)

    with ThreadPoolExecutor(callers, "regard-group") as pool:
        # Whatever this thread knows of its surroundings, its callers know.
        yield from pool.map(lambda context, group: context.run(alone, group), [copy_context() for _ in given], given)


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
