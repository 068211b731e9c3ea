"""Links between words from attention weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.text import Link, Word, aer, links, pairs, pharaoh, read_pharaoh, words, words_of
from regard.text.alignment import WAYS, word_weights
from tests.text.corpus import KINDS, LINES, learned

# Two source words of 2 and 1 pieces, two target words of 1 and 2.
SOURCE = words_of("Hunde da", [(0, 4), (4, 5), (5, 8)])
TARGET = words_of("there dogs", [(0, 5), (5, 8), (8, 10)])
WEIGHTS = np.array([[0.1, 0.1, 0.3, 0.5], [0.2, 0.3, 0.1, 0.4], [0.4, 0.1, 0.4, 0.1], [0.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize("kind", KINDS)
def test_words_from_spans_are_the_words_of_the_tokenizer(kind: str) -> None:
    for line in [*LINES[:3], *LINES[-3:], "", "  "]:
        encoded = learned(kind).encode(line)
        assert words_of(line, encoded.spans) == words(line, encoded)


def test_source_pieces_add_up_and_target_pieces_are_averaged() -> None:
    assert np.allclose(word_weights(WEIGHTS, SOURCE, TARGET), [[0.2, 0.3], [0.5, 0.25]])


def test_the_end_column_draws_no_link() -> None:
    assert links(WEIGHTS, SOURCE, TARGET) == [
        Link((6, 8), (0, 5), pytest.approx(0.3)),
        Link((0, 5), (6, 10), pytest.approx(0.5)),
    ]


def single(count: int) -> list[Word]:
    """That many words of one character and one piece."""
    return words_of("x " * count, [(2 * number, 2 * number + 1) for number in range(count)])


def test_ties_go_to_the_left_and_no_weight_is_no_link() -> None:
    weights = np.array([[0.0, 0.4, 0.4], [0.0, 0.0, 0.0]])
    assert pharaoh(links(weights, single(3), single(2)), single(3), single(2)) == "1-0"


def test_a_word_without_pieces_is_not_linked() -> None:
    empty = Word("y", (2, 3), ())
    assert links(np.array([[0.9]]), [*single(1), empty], [empty]) == []
    assert links(np.zeros((0, 0)), [], []) == []


grids = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.7]), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)


@given(grids)
def test_ways_are_sets_of_each_other(rows: list[list[float]]) -> None:
    weights = np.array(rows)
    source, target = single(weights.shape[1]), single(weights.shape[0])
    found = {way: set(pairs(links(weights, source, target, way), source, target)) for way in WAYS}
    turned = {(one, other) for other, one in pairs(links(weights.T, target, source), target, source)}
    assert found["source"] == turned
    assert found["intersection"] == found["target"] & found["source"]
    assert found["union"] == found["target"] | found["source"]
    assert sorted(other for _, other in found["target"]) == np.flatnonzero(weights.max(1) > 0).tolist()
    for one, other in found["target"]:
        assert one == int(np.argmax(weights[other]))


@given(grids)
def test_pharaoh_form_is_read_back(rows: list[list[float]]) -> None:
    weights = np.array(rows, dtype=np.float32)
    source, target = single(weights.shape[1]), single(weights.shape[0])
    found = links(weights, source, target, "union")
    assert read_pharaoh(pharaoh(found, source, target)) == pairs(found, source, target)


@pytest.mark.parametrize("line", ["0-", "a-b", "0-0 1", "0--1", "1-2-3", "-1-0"])
def test_a_bad_pair_is_named(line: str) -> None:
    with pytest.raises(DataError, match=r"gold.txt line 3: '.*' is no pair of word numbers; write source-target"):
        read_pharaoh(line, "gold.txt line 3")


def test_weights_too_few_for_the_words_are_refused() -> None:
    with pytest.raises(DataError, match="The weights are for 2 source pieces, but its words have 3"):
        links(WEIGHTS[:, :2], SOURCE, TARGET)
    with pytest.raises(DataError, match="The weights are for 1 target pieces, but its words have 3"):
        links(WEIGHTS[:1], SOURCE, TARGET)


def test_alignment_error_rate() -> None:
    sure, possible = {(0, 0), (1, 1)}, {(1, 2), (3, 3)}
    assert aer(sure, sure, possible) == aer(set(), set()) == 0
    assert aer({(5, 5)}, sure, possible) == aer(set(), sure) == 1
    assert aer({(0, 0), (3, 3), (4, 4)}, sure, possible) == pytest.approx(1 - (1 + 2) / (3 + 2))


@given(*[st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)))] * 3)
def test_the_error_rate_is_a_rate(found: set[tuple[int, int]], sure: set[tuple[int, int]], more: set) -> None:
    assert 0 <= aer(found, sure, more) <= 1
    assert aer(found, sure, more | sure) == aer(found, sure, more) <= aer(found, sure)
