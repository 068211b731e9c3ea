"""Answers are judged as the scripts of SQuAD 1.1 and 2.0 judge them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.metrics import compare, score, score_lines
from regard.metrics.answers import normalized

answers = st.text("ab the.An ", max_size=12)


@pytest.mark.parametrize(
    ("answer", "bare"),
    [
        ("The Eiffel Tower", "eiffel tower"),
        ("  a   dog,  an apple!  ", "dog apple"),
        ("theory of another", "theory of another"),
        ("U.S.A.", "usa"),
        ("a.m.", "am"),
        ("a-team", "ateam"),
        ("the", ""),
        ("...", ""),
        ("«Zürich»", "«zürich»"),
        ("東京 the 大阪", "東京 大阪"),
        ("東京the大阪", "東京the大阪"),
        ("tab\tand\nline", "tab and line"),
    ],
)
def test_answers_are_compared_without_case_marks_and_articles(answer: str, bare: str) -> None:
    assert normalized(answer) == bare


@given(answers)
def test_equal_answers_are_wholly_right(answer: str) -> None:
    assert score([answer], [answer], "answer_exact").value == score([answer], [answer], "answer_f1").value == 100


@given(first=answers, second=answers)
def test_f1_is_never_below_exact_and_the_same_both_ways(first: str, second: str) -> None:
    exact, overlap, turned = (
        score([a], [b], name).value
        for a, b, name in [
            (first, second, "answer_exact"),
            (first, second, "answer_f1"),
            (second, first, "answer_f1"),
        ]
    )
    assert 0 <= exact <= overlap <= 100
    assert overlap == turned


@pytest.mark.parametrize(
    ("output", "allowed", "exact", "overlap"),
    [
        ("the Denver Broncos", ["Denver Broncos"], 100, 100),
        ("Broncos", ["Denver Broncos"], 0, 100 * 2 / 3),
        ("Denver Denver", ["Denver Broncos"], 0, 50),
        ("Santa Clara, California", ["Levi's Stadium", "Santa Clara"], 0, 80),
        ("gold", ["silver", "gold!"], 100, 100),
        ("1,000", ["1000"], 100, 100),
        ("ten", ["eleven"], 0, 0),
    ],
)
def test_the_best_right_answer_counts(output: str, allowed: list[str], exact: float, overlap: float) -> None:
    assert score([output], [allowed], "answer_exact").value == exact
    assert score([output], [allowed], "answer_f1").value == pytest.approx(overlap)


@pytest.mark.parametrize(
    ("output", "allowed", "value"),
    [
        ("", [""], 100),
        ("the", [""], 100),
        ("something", [""], 0),
        ("", ["something"], 0),
        # As in the script of 2.0: an empty answer among others does not make a question unanswerable.
        ("", ["something", ""], 0),
        ("something", ["", "something"], 100),
        ("", ["the", "..."], 100),
    ],
)
def test_no_answer_is_an_answer(output: str, allowed: list[str], value: float) -> None:
    assert score([output], [allowed], "answer_exact").value == value
    assert score([output], [allowed], "answer_f1").value == value


def test_both_halves_can_be_scored() -> None:
    outputs, right = ["x y", "", "z", ""], ["x", "b", "", ""]
    values = {
        lines: score(outputs, right, {"name": "answer_f1", "lines": lines})
        for lines in ("all", "answerable", "unanswerable")
    }
    assert values["answerable"].value == pytest.approx(100 / 3)
    assert values["unanswerable"].value == 50
    assert values["all"].value == pytest.approx((100 / 3 + 50) / 2)
    assert "|lines:unanswerable|" in values["unanswerable"].signature


def test_a_half_that_is_not_there_is_named_and_lines_of_the_other_have_no_value() -> None:
    half = {"name": "answer_exact", "lines": "unanswerable"}
    with pytest.raises(DataError, match="None of the 2 questions is unanswerable"):
        score(["a", "b"], ["x", "y"], half)
    first, second = score_lines(["a", ""], ["x", ""], half)
    assert math.isnan(first)
    assert second == 100


def test_the_signature_states_the_rules() -> None:
    signature = score(["a"], ["a"], "answer_f1").signature
    assert signature == "nrefs:1|norm:squad|noanswer:v2.0|lines:all|reference:best|version:regard.1"


def test_readers_can_be_compared() -> None:
    right = ["red fox", "", "old house"] * 10
    result = compare(["fox", "", "house"] * 10, right, right, "answer_f1", samples=60)
    assert result.first.value == pytest.approx(100 * 7 / 9)
    assert result.delta == pytest.approx(100 * 2 / 9)
