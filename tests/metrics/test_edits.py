"""Right lines and edit rates."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.metrics import score
from regard.metrics.edits import edit_distance


def by_definition(first: str, second: str) -> int:
    """Every way to begin, the cheapest taken."""

    @cache
    def rest(i: int, j: int) -> int:
        if i == len(first) or j == len(second):
            return len(first) - i + len(second) - j
        if first[i] == second[j]:
            return rest(i + 1, j + 1)
        return 1 + min(rest(i + 1, j), rest(i, j + 1), rest(i + 1, j + 1))

    return rest(0, 0)


@given(first=st.text("abc", max_size=9), second=st.text("abcd", max_size=9))
def test_the_distance_is_what_it_is_defined_to_be(first: str, second: str) -> None:
    assert edit_distance(first, second) == edit_distance(second, first) == by_definition(first, second)
    assert edit_distance(first.split("a"), second.split("a")) <= max(len(first), len(second)) + 1


def test_the_distance_of_long_texts() -> None:
    assert edit_distance("ab" * 500, "ba" * 500) == 2
    assert edit_distance("a" * 1000, "") == edit_distance("", "a" * 1000) == 1000


@pytest.mark.parametrize(
    ("choice", "value"),
    [("word_error", 100 * 3 / 7), ("phoneme_error", 100 * 3 / 7), ("character_error", 100 * 5 / 12)],
)
def test_edits_are_counted_over_all_lines(choice: str, value: float) -> None:
    assert score(["a b x d", "e"], ["a b c d", "e f g"], choice).value == pytest.approx(value)


def test_the_nearest_reference_counts() -> None:
    allowed = [["K AE T", "K AA T S"], ["D AO G", "D AA G"]]
    assert score(["K AA T", "D AA G"], allowed, "phoneme_error").value == pytest.approx(100 * 1 / 7)
    assert score(["K AA T", "D AA G"], allowed, "exact").value == 50
    assert score(["K AA T", "D AA G"], allowed, "line_error").value == 50
    assert score(["K AA T", "D AA G"], [line[::-1] for line in allowed], "phoneme_error").value == pytest.approx(
        100 / 7
    )


def test_something_said_where_nothing_should_be() -> None:
    assert score(["a"], [""], "word_error").value == 100
    assert score([""], [""], "word_error").value == 0


def test_equal_means_equal() -> None:
    assert score(["a ", "A", "b"], ["a", "a", "b"], "exact").value == pytest.approx(100 / 3)
