"""Passages with questions: answers stand where they are said to, and some questions have none."""

import json
from collections import Counter
from pathlib import Path

import pytest

from regard.errors import ConfigError
from regard.starter import passages, write_passages
from regard.starter.grammars.passages import KINDS, TOPICS
from regard.starter.marks import unmarked
from regard.starter.passages import Question


@pytest.fixture(scope="module")
def made() -> list[Question]:
    return list(passages.rows(1000, 0, "train"))


def test_answers_stand_where_they_are_said_to(made: list[Question]) -> None:
    answers = [(row["context"], answer) for row in made for answer in row["answers"]]
    assert len(answers) > 600
    for context, answer in answers:
        assert answer["text"]
        assert context[answer["answer_start"] :].startswith(answer["text"])


def test_about_a_third_of_the_questions_has_no_answer(made: list[Question]) -> None:
    assert all(row["is_impossible"] == (not row["answers"]) for row in made)
    assert 0.25 < sum(row["is_impossible"] for row in made) / len(made) < 0.4


def test_a_kind_of_question_is_asked_with_and_without_an_answer(made: list[Question]) -> None:
    asked = Counter((row["question"].split()[0], row["is_impossible"]) for row in made)
    for word in ("Who", "Where", "When", "How", "What"):
        assert asked[word, False] > 40
        assert asked[word, True] > 15


def test_passages_have_three_to_eight_sentences(made: list[Question]) -> None:
    lengths = {row["context"].count(". ") + 1 for row in made}
    assert lengths == {3, 4, 5, 6, 7, 8}


def test_no_question_is_asked_twice_about_a_passage_and_ids_differ(made: list[Question]) -> None:
    assert len({(row["context"], row["question"]) for row in made}) == len(made)
    assert len({row["id"] for row in made}) == len(made)


def test_every_mark_has_a_question_and_every_question_a_mark() -> None:
    for topic in TOPICS:
        for fact in topic.facts:
            assert set(fact.questions) <= set(KINDS)
            for text in fact.phrasings:
                assert {mark.kind for mark in unmarked(text)[1]} == set(fact.questions), text


def test_most_kinds_of_question_are_asked_about_several_facts_of_a_topic() -> None:
    """So that the kind alone does not find the answer."""
    for topic in TOPICS:
        kinds = Counter(kind for fact in topic.facts for kind in fact.questions)
        assert set(kinds) == set(KINDS)
        assert sum(count > 1 for count in kinds.values()) >= 4, topic.title


@pytest.mark.parametrize(("version", "told"), [("2.0", "v2.0"), ("1.1", "1.1")])
def test_files_are_squad_of_the_version_asked_for(version: str, told: str, tmp_path: Path) -> None:
    document = json.loads(write_passages(tmp_path, 90, 10, 0, version)["train.json"].read_text("utf-8"))
    asked = [
        (article["title"], paragraph["context"], question)
        for article in document["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    wanted = [row for row in passages.rows(90, 0, "train") if version == "2.0" or not row["is_impossible"]]
    assert document["version"] == told
    assert len(asked) == len(wanted)
    for (title, context, question), row in zip(asked, wanted, strict=True):
        assert {"title": title, "context": context, "is_impossible": False, **question} == row
        assert ("is_impossible" in question) == (version == "2.0")


def test_an_unknown_version_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'3\.0'"):
        write_passages(tmp_path, 10, 10, 0, "3.0")
