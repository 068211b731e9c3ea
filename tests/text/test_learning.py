"""Samples, alphabets and the unigram model."""

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from regard.text.learning import frequent, reservoir, without
from regard.text.unigram import learn_scores


@given(lines=st.lists(st.text(), max_size=30), size=st.integers(1, 40), seed=st.integers(0, 5))
def test_a_sample_keeps_the_order_and_invents_nothing(lines: list[str], size: int, seed: int) -> None:
    numbered = [f"{number} {line}" for number, line in enumerate(lines)]
    sample, count = reservoir(numbered, size, seed)
    assert count == len(lines)
    assert len(sample) == min(size, len(lines))
    assert sample == [line for line in numbered if line in set(sample)]
    assert reservoir(numbered, size, seed) == (sample, count)


def test_every_line_is_equally_likely() -> None:
    drawn = Counter(line for seed in range(3000) for line in reservoir("abcdef", 2, seed)[0])
    assert all(abs(count - 1000) < 120 for count in drawn.values())
    assert len(drawn) == 6


def test_frequent_characters_come_first_and_rare_ones_not_at_all() -> None:
    assert frequent(["aab", "c"], room=9, least=2) == (["a"], {"b", "c"})
    assert frequent(["ba"], room=9, least=1) == (["a", "b"], set())
    assert frequent(["a"], room=0, least=1) == ([], {"a"})


def test_characters_are_taken_out() -> None:
    assert without(["abc", "b"], {"b"}) == ["ac", ""]


def test_unigram_scores_are_the_logarithms_of_probabilities() -> None:
    words = Counter({"abab": 10, "ab": 5, "c": 1})
    scores = learn_scores(words, ["a", "b", "c", "ab", "abab"], room=5)
    assert set("abc") <= set(scores)
    assert math.isclose(sum(map(math.exp, scores.values())), 1)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


def test_unigram_keeps_the_pieces_the_text_needs_most() -> None:
    words = Counter({"thethe": 50, "the": 100, "qrs": 2, "q": 3})
    scores = learn_scores(words, [*"theqrs", "the", "qrs", "qr"], room=7)
    assert set(scores) == {*"theqrs", "the"}
