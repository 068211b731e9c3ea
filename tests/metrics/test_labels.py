"""Accuracy, F1 and confusion of labels."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from regard.errors import DataError
from regard.metrics import Confusion, compare, comparing, confusion, metric, score, score_lines
from regard.metrics.labels import labels

NAMES = ["neg", "neutral", "pos"]
single = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=12)
several = st.sets(st.sampled_from(NAMES), min_size=1).map(sorted)
multiple = st.lists(st.tuples(several, several), min_size=1, max_size=8)


@given(single)
def test_one_label_a_line_scores_as_in_scikit_learn(lines: list[tuple[str, str]]) -> None:
    said, right = map(list, zip(*lines, strict=True))
    assert score(said, right, "accuracy").value == pytest.approx(100 * accuracy_score(right, said))
    macro = f1_score(right, said, average="macro", zero_division=0)
    assert score(said, right, "macro_f1").value == pytest.approx(100 * macro)
    assert score(said, right, "micro_f1").value == pytest.approx(score(said, right, "accuracy").value)


@given(multiple)
def test_several_labels_a_line_score_as_in_scikit_learn(lines: list[tuple[list[str], list[str]]]) -> None:
    known = sorted({label for pair in lines for side in pair for label in side})
    spread = MultiLabelBinarizer(classes=known)
    said, right = (spread.fit_transform([pair[side] for pair in lines]) for side in (0, 1))
    texts = [["|".join(pair[side]) for pair in lines] for side in (0, 1)]
    assert score(*texts, "accuracy").value == pytest.approx(100 * accuracy_score(right, said))
    for average in ("macro", "micro"):
        theirs = f1_score(right, said, average=average, zero_division=0)
        assert score(*texts, f"{average}_f1").value == pytest.approx(100 * theirs)


def test_labels_of_a_line_are_a_set() -> None:
    assert labels(" b|a | b||") == {"a", "b"}
    assert labels("") == labels(" | ") == frozenset()
    assert score(["b|a", "a", "a|b"], ["a|b", "a|b", "a"], "accuracy").value == pytest.approx(100 / 3)
    assert score(["b|a", "a", "a|b"], ["a|b", "a|b", "a"], "micro_f1").value == pytest.approx(100 * 8 / 10)


@pytest.mark.parametrize("choice", ["accuracy", "macro_f1", "micro_f1"])
def test_no_label_where_none_belongs_is_right(choice: str) -> None:
    assert score([""], [""], choice).value == 100
    assert score(["a"], [""], choice).value == 0
    assert score([""], ["a"], choice).value == 0
    assert score_lines(["", "a"], ["", "a"], choice) == [100, 100]


@pytest.mark.parametrize("choice", ["accuracy", "macro_f1", "micro_f1"])
def test_any_of_several_references_will_do(choice: str) -> None:
    assert score(["b", "好|坏"], [["a", "b"], ["x", "坏|好"]], choice).value == 100


def test_resampled_macro_f1_is_the_macro_f1_of_the_resampled_lines() -> None:
    said, right = ["a", "b", "c", "a"], ["a", "a", "c", "d"]
    measure = metric("macro_f1")
    rows = measure.statistics(said, [[label] for label in right])
    for draw in next(comparing._draws(4, 20, seed=1)):
        lines = np.repeat(np.arange(4), draw.astype(int))
        drawn = score([said[line] for line in lines], [right[line] for line in lines], "macro_f1")
        assert measure.value(draw @ rows) == pytest.approx(drawn.value)


@pytest.mark.parametrize("choice", ["accuracy", "macro_f1", "micro_f1"])
def test_classifiers_can_be_compared(choice: str) -> None:
    right = ["a", "b", "c"] * 20
    result = compare(["a"] * 60, right, right, choice, samples=50)
    assert result.first == score(["a"] * 60, right, choice)
    assert (result.second.value, result.delta) == (100, 100 - result.first.value)
    assert result.p_value < 0.05


@given(single)
def test_the_confusion_table_is_scikit_learns(lines: list[tuple[str, str]]) -> None:
    said, right = map(list, zip(*lines, strict=True))
    with warnings.catch_warnings():
        # It warns of tables with one label.
        warnings.simplefilter("ignore", UserWarning)
        theirs = confusion_matrix(right, said)
    found = confusion(said, right)
    assert [list(row) for row in found.counts] == theirs.tolist()
    assert list(found.labels) == sorted({*said, *right})


def test_a_confusion_reads_as_a_table() -> None:
    found = confusion(["pos", "neg", "neg", ""], ["pos", "pos", "neg", "neg"])
    assert str(found).splitlines() == [
        "right \\ said  (none)  neg  pos",
        "(none)             0    0    0",
        "neg                1    1    0",
        "pos                0    1    1",
    ]
    assert found.plain() == {"labels": ["", "neg", "pos"], "counts": [[0, 0, 0], [1, 1, 0], [0, 1, 1]]}


def test_several_labels_of_a_line_are_one_in_the_table() -> None:
    assert confusion(["b|a"], ["a|b"]) == Confusion(("a|b",), ((1,),))


def test_a_table_needs_as_many_references_as_outputs() -> None:
    with pytest.raises(DataError, match="2 outputs but references for 1"):
        confusion(["a", "b"], ["a"])
