"""Examples put beside others of their length, and cut into batches under a budget of tokens."""

import math

import numpy as np
from jaxtyping import Int64


def by_length(lengths: Int64[np.ndarray, "N C"], tokens: int) -> Int64[np.ndarray, " N"]:
    """An order in which neighbours are alike in every column; examples of equal lengths keep theirs.

    The plane of lengths is tiled (Leutenegger et al. 1997): sorted by the first column and cut into strips of equally
    many tokens, each strip sorted by the next, and so on. Every other strip runs backwards, so that one ends where the
    following begins. Sorting by one column after another would leave the last one unsorted where lengths vary much.
    """
    *first, last = lengths.T
    total = lengths.sum(1)
    strips = math.ceil(max(float(total.sum()) / tokens, 1) ** (1 / lengths.shape[1]))
    strip = np.zeros(len(lengths), np.int64)
    for level, column in enumerate(first, 1):
        order = np.lexsort((column, strip))
        filled = np.cumsum(total[order])
        strip[order] = (filled - 1) * strips**level // max(int(filled[-1]), 1)
    return np.lexsort((np.where(strip % 2, -last, last), strip))


def cuts(lengths: Int64[np.ndarray, "N C"], tokens: int, rows: int | None = None) -> Int64[np.ndarray, " B"]:
    """Where each batch ends: as many examples as fit, in this order; one that never fits is a batch of its own."""
    ends = [0]
    guess = 64
    while ends[-1] < len(lengths):
        ahead = lengths[ends[-1] : ends[-1] + guess]
        count = max(_fitting(ahead, tokens, rows), 1)
        if count == len(ahead) and ends[-1] + count < len(lengths) and count != rows:
            guess *= 2
        else:
            ends.append(ends[-1] + count)
            guess = 2 * count + 16
    return np.array(ends[1:], np.int64)


def padded_tokens(lengths: Int64[np.ndarray, "N C"], ends: Int64[np.ndarray, " B"]) -> int:
    """How many tokens the batches have with their padding."""
    starts = np.concatenate([[0], ends[:-1]])
    return int(((ends - starts) * np.maximum.reduceat(lengths, starts).sum(1)).sum())


def _fitting(lengths: Int64[np.ndarray, "N C"], tokens: int, rows: int | None) -> int:
    """How many examples from the first on make a batch."""
    longest = np.maximum.accumulate(lengths).sum(1)
    # An example without tokens still takes a row.
    padded = np.arange(1, len(lengths) + 1) * np.maximum(longest, 1)
    fitting = int(np.searchsorted(padded, tokens, side="right"))
    return fitting if rows is None else min(fitting, rows)
