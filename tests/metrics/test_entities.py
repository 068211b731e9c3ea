"""Entity scores are seqeval's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import classification_report, f1_score, precision_score, recall_score
from seqeval.scheme import IOB2

from regard.errors import DataError
from regard.metrics import Found, compare, per_type, score, score_lines

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "I-A-B"]
tag = st.sampled_from(TAGS)
# One line: for each word the tag said and the right one. I after O, and I of another type, are among them.
corpora = st.lists(st.lists(st.tuples(tag, tag), max_size=8), min_size=1, max_size=5)
Corpus = list[list[tuple[str, str]]]
SCORERS = {"entity_f1": f1_score, "entity_precision": precision_score, "entity_recall": recall_score}
MODES: dict[bool, dict[str, Any]] = {False: {}, True: {"mode": "strict", "scheme": IOB2}}


def sides(corpus: Corpus) -> tuple[list[list[str]], list[list[str]]]:
    return [[said for said, _ in line] for line in corpus], [[right for _, right in line] for line in corpus]


def texts(lines: list[list[str]]) -> list[str]:
    return [" ".join(line) for line in lines]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("choice", SCORERS)
@given(corpus=corpora)
def test_the_number_is_seqevals(choice: str, strict: bool, corpus: Corpus) -> None:
    said, right = sides(corpus)
    theirs = SCORERS[choice](right, said, zero_division=0, **MODES[strict])
    ours = score(texts(said), texts(right), {"name": choice, "strict": strict})
    assert ours.value == pytest.approx(100 * theirs)


@pytest.mark.parametrize("strict", [False, True])
@given(corpus=corpora)
def test_each_type_scores_as_in_seqevals_report(strict: bool, corpus: Corpus) -> None:
    said, right = sides(corpus)
    found = per_type(texts(said), texts(right), strict=strict)
    if not found:
        # seqeval cannot report on nothing.
        return
    theirs = classification_report(right, said, output_dict=True, zero_division=0, **MODES[strict])
    assert {name for name in theirs if not name.endswith(" avg")} == found.keys()
    for kind, figures in found.items():
        row = theirs[kind]
        expected = [100 * row["precision"], 100 * row["recall"], 100 * row["f1-score"], row["support"]]
        assert [figures.precision, figures.recall, figures.f1, figures.wanted] == pytest.approx(expected)


def test_an_entity_that_begins_with_i_counts_unless_strict() -> None:
    said, right = ["I-PER I-PER O"], ["B-PER I-PER O"]
    assert score(said, right, "entity_f1").value == 100
    assert score(said, right, {"name": "entity_f1", "strict": True}).value == 0


def test_type_and_both_ends_have_to_be_right() -> None:
    right = ["B-PER I-PER O B-LOC"]
    assert score(["B-PER O O B-LOC"], right, "entity_f1").value == 50
    assert score(["B-LOC I-LOC O B-LOC"], right, "entity_f1").value == 50
    assert score(["B-PER I-PER O O"], right, "entity_precision").value == 100
    assert score(["B-PER I-PER O O"], right, "entity_recall").value == 50


def test_a_line_with_nothing_to_find_is_right_alone_but_adds_nothing() -> None:
    assert score_lines(["O O", "B-X", ""], ["O O", "O", ""], "entity_f1") == [100, 0, 100]
    assert score(["O O", ""], ["O O", ""], "entity_f1").value == 0
    assert per_type(["O"], ["O"]) == {}


def test_per_type_counts_what_was_right_said_and_wanted() -> None:
    found = per_type(["B-PER B-LOC O", "B-LOC"], ["B-PER O B-LOC", "B-LOC"])
    assert found == {"LOC": Found(50.0, 50.0, 50.0, 1, 2, 2), "PER": Found(100.0, 100.0, 100.0, 1, 1, 1)}
    assert list(found) == ["LOC", "PER"]
    assert found["PER"].plain()["wanted"] == 1


def test_the_nearest_reference_counts() -> None:
    assert score(["B-人 O"], [["O O", "B-人 O"]], "entity_f1").value == 100
    assert (
        score(
            ["O O"],
            [
                ["B-人 O", "O O"],
            ],
            "entity_recall",
        ).value
        == 0
    )
    assert score_lines(["O O"], [["B-人 O", "O O"]], "entity_f1") == [100]


@pytest.mark.parametrize(
    ("outputs", "references", "reason"),
    [
        (["O", "O O"], ["O", "O"], "Output 2 has 2 tags, its reference 1: every word needs one tag."),
        (["O"], [["O", "O O"]], "Output 1 has 1 tags, its reference 2"),
        (["O B_PER"], ["O O"], "Output 1: tag 2 is 'B_PER'; expected O, B-TYPE or I-TYPE (IOB2) between spaces."),
        (["O"], ["S-PER"], "The reference of output 1: tag 1 is 'S-PER'"),
    ],
)
def test_what_are_no_tags_is_named(outputs: list[str], references: list[Any], reason: str) -> None:
    for scored in (lambda: score(outputs, references, "entity_f1"), lambda: per_type(outputs, references)):
        with pytest.raises(DataError) as caught:
            scored()
        assert str(caught.value).startswith(reason)


def test_the_signature_states_scheme_mode_and_version() -> None:
    lenient = score(["O"], ["O"], "entity_f1").signature
    assert lenient == "nrefs:1|scheme:IOB2|mode:conlleval|reference:nearest|version:seqeval.1.2.2"
    assert "|mode:strict|" in score(["O"], ["O"], {"name": "entity_f1", "strict": True}).signature


def test_taggers_can_be_compared() -> None:
    right = ["B-PER I-PER O", "O B-LOC", "O O"] * 10
    result = compare(["B-PER O O", "O B-LOC", "O O"] * 10, right, right, "entity_f1", samples=60)
    assert (result.first.value, result.second.value) == (50, 100)
    assert result.interval[0] < 50 < result.interval[1]
