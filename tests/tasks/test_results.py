"""What a result says about itself."""

import pytest

from regard.decode import Hypothesis
from regard.tasks.generating import mean_score
from regard.tasks.results import looped, status
from regard.tasks.translating import between


@pytest.mark.parametrize(
    ("pieces", "loops"),
    [
        ([], False),
        ([4, 5, 6, 7, 8], False),
        ([4, 4, 4], False),
        ([4, 4, 4, 4], True),
        ([9, 4, 5, 4, 5, 4, 5, 4, 5, 8], True),
        ([4, 5, 6, 4, 5, 6], False),
        ([1, 4, 5, 6, 4, 5, 6, 4, 5, 6, 2], True),
    ],
)
def test_a_loop_is_a_stretch_that_repeats_right_after_itself(pieces: list[int], loops: bool) -> None:
    assert looped(pieces) is loops


def hypothesis(pieces: tuple[int, ...], complete: bool = True) -> Hypothesis:
    return Hypothesis(pieces, 0.0, 0.0, (0.0,) * len(pieces), complete)


def test_an_end_counts_in_the_score_like_any_piece() -> None:
    empty = Hypothesis((), -3.0, -3.0, (-3.0,), True)
    three = Hypothesis((4, 5, 6), -1.0, -3.0, (-1.0, -1.0, -1.0), False)
    assert mean_score([empty]) == -3.0
    assert mean_score([empty, three]) == pytest.approx(-1.5)


def test_a_status_says_how_it_ended_and_what_is_suspicious() -> None:
    assert status(hypothesis((4, 5)), "a dog", "ein Hund") == ("complete",)
    assert status(hypothesis((4, 5), complete=False), "a dog", "ein Hund") == ("limit",)
    assert status(hypothesis((4,) * 5), "a dog", "ein Hund") == ("complete", "looped")
    assert status(hypothesis((4, 5)), " A dog", "a dog") == ("complete", "copied")


@pytest.mark.parametrize(
    ("gap", "left", "right", "wanted"),
    [
        (" ", "Ja.", "Nein.", " "),
        ("", "Yes.", "No.", " "),
        (" ", "是。", "不是。", ""),
        ("\n\n", "Ja.", "Nein.", "\n\n"),
        (" ", "", "Ja.", ""),
    ],
)
def test_parts_are_joined_as_their_script_is_written(gap: str, left: str, right: str, wanted: str) -> None:
    assert between(gap, left, right) == wanted
