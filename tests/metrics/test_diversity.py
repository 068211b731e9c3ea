"""distinct-n over all outputs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.metrics import compare, score, score_lines

replies = st.lists(st.lists(st.sampled_from("abcé"), max_size=6).map(" ".join), min_size=1, max_size=5)


@given(replies)
def test_it_is_different_words_per_word_of_all_outputs(outputs: list[str]) -> None:
    words = [word for line in outputs for word in line.split()]
    pairs = [pair for line in outputs for pair in pairwise(line.split())]
    for name, grams in (("distinct_1", words), ("distinct_2", pairs)):
        expected = 100 * len(set(grams)) / len(grams) if grams else 0
        assert score(outputs, outputs, name).value == pytest.approx(expected)


def test_what_lines_repeat_of_one_another_counts() -> None:
    assert score(["i do not know"] * 4, ["x"] * 4, "distinct_1").value == 25
    assert score(["i do not know"] * 4, ["x"] * 4, "distinct_2").value == 25
    assert score(["a b", "c a"], ["", ""], "distinct_1").value == 75
    assert score(["a b", "b c"], ["", ""], "distinct_2").value == 100


def test_no_pair_spans_two_lines() -> None:
    assert score(["a", "b"], ["", ""], "distinct_2").value == 0


def test_references_are_not_read() -> None:
    assert score(["a b a"], ["q"], "distinct_2") == score(["a b a"], [["r", "s"]], "distinct_2")


def test_chinese_is_cut_into_characters() -> None:
    assert score(["好好学习"], [""], "distinct_1").value == 100
    assert score(["好好学习"], [""], {"name": "distinct_1", "tokenizer": "characters"}).value == 75


def test_the_signature_states_the_words() -> None:
    assert score(["a"], ["a"], "distinct_2").signature == "order:2|tok:words|case:mixed|version:regard.1"


def test_lines_and_comparisons_are_refused_in_one_sentence() -> None:
    with pytest.raises(ConfigError, match="distinct_1 is of all outputs together"):
        score_lines(["a"], ["a"], "distinct_1")
    with pytest.raises(ConfigError, match="compare by another metric"):
        compare(["a"], ["b"], ["a"], "distinct_2")
