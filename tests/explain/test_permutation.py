"""Permutation importance over rows of any kind, on scores whose truth can be worked out pair by pair."""

import numpy as np
import pytest

from regard.errors import RequestError
from regard.explain.permutation import PermutationSettings, commonest, donors, field, permutation, place, within, word

ROWS = [{"a": float(a), "b": float(b), "c": 1.0} for a, b in np.random.default_rng(0).normal(size=(15, 2))]
COLUMNS = {name: field(name) for name in ("a", "b", "c")}


def product(rows: list[dict[str, float]]) -> np.ndarray:
    return np.array([row["a"] * row["b"] + row["a"] for row in rows])


def truth(name: str) -> float:
    """The drop over every row and every other row it could get its column from."""
    pairs = [(row, donor) for row in ROWS for donor in ROWS if donor is not row]
    return float(np.mean([product([row]) - product([{**row, name: donor[name]}]) for row, donor in pairs]))


def test_draws_come_near_the_truth() -> None:
    found = permutation(ROWS, product, COLUMNS, PermutationSettings(samples=600))
    np.testing.assert_allclose(found.weights[0], [truth("a"), truth("b"), 0], atol=0.05)
    assert [unit.text for unit in found.inputs.units] == ["a", "b", "c"]


def test_a_column_that_is_not_read_counts_nothing() -> None:
    found = permutation(ROWS, lambda rows: np.array([row["a"] for row in rows]), COLUMNS, PermutationSettings())
    assert found.weights[0, 1:].tolist() == [0, 0]


def test_every_row_gets_the_column_of_another_row() -> None:
    for seed in range(20):
        given = donors(7, (seed, 0))
        assert sorted(given.tolist()) == list(range(7))
        assert (given != np.arange(7)).all()


def test_only_rows_that_change_are_scored_again() -> None:
    texts, asked = ["a good film", "a bad film", "a dull film"], []

    def score(rows: list[str]) -> np.ndarray:
        asked.append(len(rows))
        return np.array(["good" in row for row in rows], dtype=float)

    found = permutation(texts, score, {"good": word("good"), "film": word("film")}, PermutationSettings(samples=3))
    assert asked == [3, 1, 1, 1]
    np.testing.assert_allclose(found.weights[0], [1 / 3, 0])


def test_a_word_becomes_the_word_at_its_place_in_another_row() -> None:
    assert word("good")("a good film, so good", "the plot") == "a plot film, so the"
    assert word("good")("a goodly film", "the plot") == "a goodly film"


def test_the_commonest_words_are_those_in_the_most_texts() -> None:
    columns = commonest(["a film a film a", "the film", "the plot of the film"], 2)
    assert list(columns) == ["film", "the"]
    assert columns["the"]("the plot", "no way") == "no plot"


def test_a_field_of_text_can_be_shuffled_by_word() -> None:
    row, donor = {"text": "so good", "by": "x"}, {"text": "no way", "by": "y"}
    assert within("text", word("good"))(row, donor) == {"text": "so way", "by": "x"}
    assert within("text", word("bad"))(row, donor) is row


def test_a_place_of_a_sequence_can_be_shuffled() -> None:
    assert place(1)([1, 2, 3], [4, 5]) == [1, 5, 3]
    row = [1, 2, 3]
    assert place(2)(row, [4, 5]) is row


def test_a_seed_decides() -> None:
    one, same, other = (permutation(ROWS, product, COLUMNS, PermutationSettings(seed=seed)) for seed in (1, 1, 2))
    assert one.weights.tolist() == same.weights.tolist()
    assert one.weights.tolist() != other.weights.tolist()


def test_one_row_cannot_be_shuffled() -> None:
    with pytest.raises(RequestError, match="1 rows and 3 columns leave nothing to shuffle"):
        permutation(ROWS[:1], product, COLUMNS, PermutationSettings())
