"""Recipes: what a task holds for right where a recipe says nothing, or not all."""

from typing import Any

import pytest

from regard.api import read


def recipe(task: str, **tables: Any) -> Any:
    return read({"task": task, "data": {}, "model": {"name": "recurrent"}, **tables})


@pytest.mark.parametrize(
    ("task", "own"),
    [
        ("summarization", {"no_repeat": 3, "longest_factor": 0.5, "longest_extra": 30}),
        ("dialogue", {"no_repeat": 3, "longest_factor": 0.0, "longest_extra": 60}),
    ],
)
def test_one_setting_of_a_search_leaves_the_others_as_the_task_has_them(task: str, own: dict[str, Any]) -> None:
    for search in (recipe(task).search, recipe(task, search={"beams": 3}).search):
        assert {name: getattr(search, name) for name in own} == own
    assert recipe(task, search={"beams": 3}).search.beams == 3


def test_a_metric_of_validation_leaves_its_search_alone() -> None:
    validation = {"metrics": ["rouge1"], "search": {"longest_extra": 9}}
    search = recipe("summarization", validation=validation).validation.search
    assert (search.method, search.no_repeat, search.longest_factor, search.longest_extra) == ("greedy", 3, 0.5, 9)


def test_a_size_alone_leaves_a_tagger_its_words_and_a_kind_brings_its_own() -> None:
    words, pieces = (recipe("tagging", tokenizer=one).tokenizer for one in ({"size": 99}, {"kind": "bpe", "size": 99}))
    assert (words.kind, words.size, words.lower, words.least) == ("spaced", 99, True, 2)
    assert (pieces.kind, pieces.size, pieces.lower, pieces.least) == ("bpe", 99, False, 1)
    assert recipe("tagging", tokenizer={"kind": "words"}).tokenizer.size == recipe("classification").tokenizer.size


@pytest.mark.parametrize("task", ["summarization", "dialogue", "tagging"])
def test_a_recipe_that_was_written_down_is_the_same(task: str) -> None:
    whole = recipe(task)
    assert read(whole.plain()) == whole
