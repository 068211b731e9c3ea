"""Reports, stories and dialogues: a summary is in its report, a story can be learnt, a reply needs what came before."""

import math
import re
from collections import Counter
from pathlib import Path

import pytest

from regard.starter import dialogues, reports, stories, write_dialogues, write_stories
from regard.starter.dialogues import BETWEEN, Dialogue
from regard.starter.grammars.dialogues import RULES, SCENES
from regard.starter.grammars.reports import EVENTS

NAME = re.compile(r"\b(?:[A-Z]\w+|\d[\d-]*)\b")


@pytest.fixture(scope="module")
def made_reports() -> list[dict[str, str]]:
    return list(reports.rows(400, 0, "train"))


@pytest.fixture(scope="module")
def made_dialogues() -> list[Dialogue]:
    return list(dialogues.rows(400, 0, "train"))


def test_every_name_and_number_of_a_summary_is_in_the_report(made_reports: list[dict[str, str]]) -> None:
    names = [(name, row["document"]) for row in made_reports for name in NAME.findall(row["summary"])]
    openings = {"A", "It", "The"}
    missing = {name for name, document in names if name.lower() not in document.lower()} - openings
    assert len(names) > 1500
    assert missing == set()


def test_reports_have_four_to_ten_sentences_and_summaries_one_or_two(made_reports: list[dict[str, str]]) -> None:
    documents = Counter(row["document"].count(". ") + 1 for row in made_reports)
    assert set(documents) == set(range(4, 11))
    summaries = Counter(row["summary"].count(". ") + 1 for row in made_reports)
    assert set(summaries) == {1, 2}
    assert min(summaries.values()) > 0.4 * len(made_reports)


def test_the_first_sentence_is_rarely_enough_for_the_summary(made_reports: list[dict[str, str]]) -> None:
    leads = [(row["document"].split(". ")[0], row["summary"]) for row in made_reports]
    complete = [all(name in lead for name in NAME.findall(summary)) for lead, summary in leads]
    assert sum(complete) < 0.2 * len(complete)


def test_the_same_report_always_has_the_same_summary() -> None:
    """What a summary says follows from what is told: nothing is left to chance."""
    assert all(event.summary and event.also and len(event.more) > 0 for event in EVENTS.values())
    for row in reports.rows(200, 1, "train"):
        told = [event for event in EVENTS.values() if _like(event.summary).match(row["summary"])]
        assert len(told) == 1
        more = any(_like(text).search(row["document"]) for text in told[0].more)
        assert more == (row["summary"].count(". ") == 1)


def _like(text: str) -> re.Pattern[str]:
    """The text with anything in its holes."""
    parts = [re.escape(part) for part in re.split(r"\{\w+\}", text)]
    return re.compile(".+?".join(parts), re.IGNORECASE)


def test_stories_have_a_low_perplexity_for_a_model_that_only_counts() -> None:
    """Words after the two before, backed off to one and none: a trained model must be far below this."""
    train = [row["text"].split() for row in stories.rows(500, 0, "train")]
    counts = [Counter(gram for words in train for gram in _grams(words, length)) for length in (1, 2, 3)]
    total = sum(counts[0].values())

    def probability(a: str, b: str, c: str) -> float:
        one = (counts[0][c,] + 0.1) / (total + 100)
        two = (counts[1][b, c] + one) / (counts[0][b,] + 1)
        return (counts[2][a, b, c] + two) / (counts[1][a, b] + 1)

    held_out = [gram for row in stories.rows(60, 0, "test") for gram in _grams(row["text"].split(), 3)]
    perplexity = math.exp(-sum(math.log(probability(*gram)) for gram in held_out) / len(held_out))
    assert perplexity < 5


def _grams(words: list[str], length: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(length)), strict=False))


def test_stories_are_paragraphs_with_an_empty_line_between(tmp_path: Path) -> None:
    text = write_stories(tmp_path, 12, 3, 0)["train.txt"].read_text("utf-8")
    assert text.endswith(".\n")
    assert text.rstrip("\n").split("\n\n") == [row["text"] for row in stories.rows(12, 0, "train")]


def test_a_story_says_he_of_boys_and_she_of_girls() -> None:
    for row in stories.rows(100, 0, "train"):
        pronouns = set(re.findall(r"\b(?:he|him|she|her)\b", row["text"].lower()))
        assert pronouns <= {"he", "him"} or pronouns <= {"she", "her"}


def test_turns_alternate_and_the_clerk_replies(made_dialogues: list[Dialogue]) -> None:
    assert {len(row["turns"]) for row in made_dialogues} == {1, 3, 5}
    assert all(row["reply"] and all(row["turns"]) for row in made_dialogues)


def test_most_replies_name_what_only_earlier_turns_said(made_dialogues: list[Dialogue]) -> None:
    """Of the long conversations: a word of the reply that the last turn does not have and an earlier one has."""
    long = [row for row in made_dialogues if len(row["turns"]) == 5]
    values = {value for table, lines in RULES.items() if ":" not in table for value in lines}
    needed = [
        any(v in row["reply"] and v not in row["turns"][-1] and v in " ".join(row["turns"][:-1]) for v in values)
        for row in long
    ]
    assert len(long) > 200
    assert sum(needed) > 0.95 * len(long)


def test_every_pair_of_a_scene_is_said_in_its_turns() -> None:
    for scene in SCENES.values():
        slots = re.findall(r"\{\w+\}", scene.pair)
        assert len(slots) == 2
        assert len(scene.turns) % 2 == 0
        for slot in slots:
            assert any(slot in text for turn in scene.turns[::2] for text in turn)


def test_a_table_of_dialogues_has_the_turns_in_one_column(tmp_path: Path) -> None:
    header, *lines = write_dialogues(tmp_path, 20, 5, 0)["train.tsv"].read_text("utf-8").splitlines()
    assert header == "turns\treply"
    for line, row in zip(lines, dialogues.rows(20, 0, "train"), strict=True):
        turns, reply = line.split("\t")
        assert (turns.split(BETWEEN), reply) == (row["turns"], row["reply"])
