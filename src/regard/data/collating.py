"""Examples of different lengths as rectangles, filled up with padding."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, Integer


class Padded(NamedTuple):
    """Sequences in rows, each filled up to the longest, and how long each really is."""

    tokens: Int64[np.ndarray, "B S"]
    lengths: Int64[np.ndarray, " B"]


def collate(
    examples: Sequence[Mapping[str, Integer[np.ndarray, " _"]]], padding: Mapping[str, int]
) -> dict[str, Padded]:
    """Each column of the examples as one rectangle; `padding` names the columns and the token that fills them up."""
    return {name: padded([example[name] for example in examples], token) for name, token in padding.items()}


def padded(sequences: Sequence[Integer[np.ndarray, " _"]], token: int) -> Padded:
    """Sequences as the rows of one array.

    >>> padded([np.array([5, 6, 7]), np.array([8])], token=0).tokens
    array([[5, 6, 7],
           [8, 0, 0]])
    """
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    tokens = np.full((len(sequences), int(lengths.max(initial=0))), token, np.int64)
    filled = np.arange(tokens.shape[1]) < lengths[:, None]
    tokens[filled] = np.concatenate([*sequences, np.empty(0, np.int64)])
    return Padded(tokens, lengths)
