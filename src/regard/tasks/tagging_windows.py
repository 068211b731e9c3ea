"""A text of too many words read in windows, and which window each word is taken from."""

from collections.abc import Iterator, Sequence
from math import inf

from regard.tasks.reading import LongSettings

Window = tuple[int, int]


def windows(sizes: Sequence[int], room: int, settings: LongSettings) -> list[Window]:
    """The windows [start, end) of words that are read of words of so many pieces: all, the first, the last, or none.

    No word may have more pieces than there is room for.
    """
    if sum(sizes) <= room:
        return [(0, len(sizes))] if sizes else []
    if settings.long == "tail":
        return [(len(sizes) - _reach(sizes[::-1], 0, room), len(sizes))]
    if settings.long == "head":
        return [(0, _reach(sizes, 0, room))]
    return list(overlapping(sizes, room, settings.overlap)) if settings.long == "window" else []


def overlapping(sizes: Sequence[int], room: int, overlap: int) -> Iterator[Window]:
    """Windows that cover all words and share `overlap` pieces with the one before, at most half of what they have.

    >>> list(overlapping([1, 1, 3, 1, 1, 1], room=4, overlap=1))
    [(0, 2), (1, 3), (3, 6)]
    """
    start = end = 0
    while end < len(sizes):
        end = _reach(sizes, start, room)
        yield start, end
        start = end - _reach(sizes[start + 1 : end][::-1], 0, min(overlap, room // 2))


def _reach(sizes: Sequence[int], start: int, room: int) -> int:
    """How far words fit from `start` on."""
    end = start
    while end < len(sizes) and sizes[end] <= room:
        room -= sizes[end]
        end += 1
    return end


def homes(spans: Sequence[Window]) -> dict[int, tuple[int, int]]:
    """For each word that is read, in order, the window in which it is farthest from an edge, and its place there.

    The ends of what is read are no edges; of equals the first window counts.
    """
    found: dict[int, tuple[float, int, int]] = {}
    for window, (start, end) in enumerate(spans):
        for number in range(start, end):
            left = inf if start == spans[0][0] else number - start
            right = inf if end == spans[-1][1] else end - 1 - number
            if number not in found or min(left, right) > found[number][0]:
                found[number] = (min(left, right), window, number - start)
    return {number: found[number][1:] for number in sorted(found)}
