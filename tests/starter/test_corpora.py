"""What every starter corpus promises: size, no row twice, parts that share nothing, the same rows every time."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from regard.data import Corpus, CorpusSettings
from regard.errors import ConfigError
from regard.starter import PARTS, WRITERS, dialogues, entities, passages, reports, reviews, stories
from regard.starter.grammars.names import named

Rows = Callable[[int, int, str], Iterator[Mapping[str, Any]]]

ROWS: dict[str, Rows] = {
    "classification": reviews.rows,
    "classification-zh": partial(reviews.rows, language="zh"),
    "summarization": reports.rows,
    "tagging": entities.rows,
    "answering": passages.rows,
    "language": stories.rows,
    "dialogue": dialogues.rows,
}
POSSIBLE = {
    "classification": reviews.possible,
    "classification-zh": partial(reviews.possible, "zh"),
    "summarization": reports.possible,
    "tagging": entities.possible,
    "answering": passages.possible,
    "language": stories.possible,
    "dialogue": dialogues.possible,
}
# The settings with which the reader of each task takes the files as they are.
READ = {
    "classification": {"path": "{part}.tsv", "columns": {"text": "text", "label": "label"}},
    "summarization": {"path": "{part}.jsonl", "columns": {"source": "document", "target": "summary"}},
    "tagging": {"path": "{part}.conll", "columns": {"words": 1, "tags": 2}},
    "answering": {"path": "{part}.json", "format": "squad"},
    "language": {"path": "{part}.txt", "unit": "document", "columns": {"text": 1}},
    "dialogue": {"path": "{part}.tsv", "columns": {"turns": "turns", "reply": "reply"}},
}
WITH_NAMES = ("summarization", "tagging", "answering")

each = pytest.mark.parametrize("task", ROWS)


@cache
def keys(task: str, count: int, seed: int, part: str) -> list[str]:
    """The rows as text, without what only numbers them."""
    made = ROWS[task](count, seed, part)
    return [json.dumps({name: value for name, value in row.items() if name != "id"}, sort_keys=True) for row in made]


@each
def test_rows_are_as_many_as_asked_and_all_different(task: str) -> None:
    for part in PARTS:
        assert len(set(keys(task, 120, 0, part))) == 120


@each
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(task: str) -> None:
    assert keys(task, 40, 0, "train") == keys(task, 120, 0, "train")[:40]
    assert keys(task, 40, 0, "train") != keys(task, 120, 1, "train")[:40]


@each
def test_no_row_is_in_two_parts_whatever_the_seed(task: str) -> None:
    made = {part: {key for seed in (0, 1) for key in keys(task, 120, seed, part)} for part in PARTS}
    assert all(made[first].isdisjoint(made[second]) for first, second in combinations(PARTS, 2))


@each
def test_more_rows_are_possible_than_promised(task: str) -> None:
    assert POSSIBLE[task]() > 200_000


@pytest.mark.parametrize("task", WITH_NAMES)
def test_names_of_a_held_out_part_are_in_no_other_part(task: str) -> None:
    for part, other in ((part, other) for part in PARTS for other in PARTS if part != other):
        words = set(re.findall(r"\w+", " ".join(keys(task, 120, 0, part))))
        assert words & named(part)
        assert not words & named(other)


@pytest.mark.parametrize("task", WITH_NAMES)
def test_every_held_out_row_has_a_name_of_its_own_part(task: str) -> None:
    assert all(named("test") & set(re.findall(r"\w+", key)) for key in keys(task, 120, 0, "test"))


@pytest.mark.parametrize("task", WRITERS)
def test_files_are_read_by_the_reader_of_the_task_without_a_fault(task: str, tmp_path: Path) -> None:
    paths = WRITERS[task](tmp_path / "new" / "folder", 60, 20, 0)
    assert all(path.is_file() and path.name == name for name, path in paths.items())
    for part, size in {"train": 60, "valid": 20, "test": 20}.items():
        told = READ[task] | {"path": READ[task]["path"].format(part=part)}
        read = list(Corpus(CorpusSettings(**told), root=tmp_path / "new" / "folder"))
        assert len(read) == size
        assert all(text.strip() for row in read for text in row.fields.values())


@pytest.mark.parametrize("task", WRITERS)
def test_a_size_that_cannot_be_is_refused_before_anything_is_written(task: str, tmp_path: Path) -> None:
    for size, held_out, told in ((0, 5, "size = 0"), (5, -1, "held_out = -1")):
        with pytest.raises(ConfigError, match=told):
            WRITERS[task](tmp_path / "data", size, held_out, 0)
    assert not (tmp_path / "data").exists()


@each
def test_texts_are_clean(task: str) -> None:
    for key in keys(task, 120, 0, "train"):
        assert not any(
            sign in key for sign in ("{{", "}}", "[PER", "[who", "\\t", "\\n", "  ", " .", " a a", " a e", " a o")
        )


def test_json_lines_are_read_back_as_they_were_made(tmp_path: Path) -> None:
    for task in ("summarization", "dialogue"):
        paths = WRITERS[task](tmp_path / task, 30, 5, 1)
        lines = paths["valid.jsonl"].read_text("utf-8").splitlines()
        assert [json.loads(line) for line in lines] == list(ROWS[task](5, 1, "valid"))
