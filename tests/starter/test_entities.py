"""Tagged sentences: tags that fit, spans that fit, and names that can be several things."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from regard.starter import entities, write_entities
from regard.starter.entities import TYPES, Tagged


@pytest.fixture(scope="module")
def made() -> list[Tagged]:
    return list(entities.rows(700, 0, "train"))


def test_tags_are_iob2_of_the_four_types(made: list[Tagged]) -> None:
    for row in made:
        assert len(row["words"]) == len(row["tags"])
        for before, tag in zip(["O", *row["tags"]], row["tags"], strict=False):
            assert tag == "O" or tag[2:] in TYPES
            assert not tag.startswith("I-") or before[2:] == tag[2:]


def test_spans_and_tags_say_the_same(made: list[Tagged]) -> None:
    for row in made:
        spans = [(row["text"][span["start"] : span["end"]], span["type"]) for span in row["entities"]]
        starts = [index for index, tag in enumerate(row["tags"]) if tag.startswith("B-")]
        assert len(spans) == len(starts)
        for (text, type), start in zip(spans, starts, strict=True):
            length = len(text.split())
            assert " ".join(row["words"][start : start + length]) == text
            assert row["tags"][start : start + length] == [f"B-{type}"] + [f"I-{type}"] * (length - 1)
            assert row["tags"][start + length : start + length + 1] != [f"I-{type}"]


def test_words_are_the_text_without_its_spaces(made: list[Tagged]) -> None:
    assert all("".join(row["words"]) == row["text"].replace(" ", "") for row in made)


def test_every_type_is_common(made: list[Tagged]) -> None:
    counts = Counter(span["type"] for row in made for span in row["entities"])
    assert set(counts) == set(TYPES)
    assert min(counts.values()) > 0.05 * counts.total()


def test_many_surface_forms_have_several_types(made: list[Tagged]) -> None:
    types = defaultdict(set)
    for row in made:
        for word, tag in zip(row["words"], row["tags"], strict=True):
            types[word].add(tag[2:])
    assert {"PER", "LOC", "ORG"} <= types["Washington"]
    assert {"ORG", ""} <= types["Apple"]
    assert sum(len(found) > 1 for word, found in types.items() if word[0].isupper()) > 20


def test_a_word_list_is_not_enough_for_unseen_names(made: list[Tagged]) -> None:
    """Every word tagged as most often in training: at most two thirds of the entity words of the held-out part."""
    seen = defaultdict(Counter)
    for row in made:
        for word, tag in zip(row["words"], row["tags"], strict=True):
            seen[word][tag] += 1
    tags = [
        (tag, seen[word].most_common(1)[0][0] if word in seen else "O")
        for row in entities.rows(300, 0, "test")
        for word, tag in zip(row["words"], row["tags"], strict=True)
        if tag != "O"
    ]
    assert sum(tag == guess for tag, guess in tags) < 0.67 * len(tags)


def test_columns_and_json_spans_hold_the_same_sentences(tmp_path: Path) -> None:
    paths = write_entities(tmp_path, 40, 10, 0)
    blocks = paths["train.conll"].read_text("utf-8").split("\n\n")
    lines = paths["train.jsonl"].read_text("utf-8").splitlines()
    assert blocks.pop() == ""
    assert len(blocks) == len(lines) == 40
    for block, line, row in zip(blocks, lines, entities.rows(40, 0, "train"), strict=True):
        assert [tuple(word.split(" ")) for word in block.split("\n")] == list(
            zip(row["words"], row["tags"], strict=True)
        )
        assert json.loads(line) == {"text": row["text"], "entities": row["entities"]}
