"""Sequences become rectangles and stay readable in them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data import collate, padded

sequences = st.lists(st.lists(st.integers(0, 2**16 - 1), max_size=6), max_size=6)


@given(sequences, st.integers(0, 9))
def test_rows_are_the_sequences_and_padding(sequences: list[list[int]], token: int) -> None:
    tokens, lengths = padded([np.array(sequence, np.uint16) for sequence in sequences], token)
    longest = max(map(len, sequences), default=0)
    assert tokens.shape == (len(sequences), longest)
    assert tokens.tolist() == [sequence + [token] * (longest - len(sequence)) for sequence in sequences]
    assert lengths.tolist() == [len(sequence) for sequence in sequences]


def test_each_column_has_its_own_padding() -> None:
    examples = [
        {"source": np.array([1, 2]), "target": np.array([3])},
        {"source": np.array([4]), "target": np.array([5, 6])},
    ]
    batch = collate(examples, {"source": 0, "target": 9})
    assert batch["source"].tokens.tolist() == [[1, 2], [4, 0]]
    assert batch["target"].tokens.tolist() == [[3, 9], [5, 6]]
    assert batch["target"].lengths.tolist() == [1, 2]
    assert list(collate(examples, {"target": 9})) == ["target"]
