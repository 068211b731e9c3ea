"""Permutation importance over a data set of a task: what the model reads is what it misses."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.api.importance import ImportanceSettings, importance
from regard.errors import DataError
from regard.models import Classifier
from tests.explain.test_every_task import made

KEY = "dog"


class OneWord(Classifier):
    """Says "good" where the key is there, and reads nothing else."""

    def forward(self, pieces: Tensor, real: Tensor | None = None, *_: Any) -> Tensor:
        there = (pieces == self.key).any(1)
        return torch.where(there[:, None] == self.right, 4.0, -4.0)


def model() -> Any:
    pipeline = made("classification", "recurrent")
    reads = OneWord(pipeline.model.encoder, pipeline.model.settings, 2)
    reads.key = pipeline.task.reading.tokenizer.id(KEY)
    reads.right = torch.tensor([name == "good" for name in pipeline.task.labels.names])
    return replace(pipeline, model=reads)


ROWS = [
    {"text": "the dog sees a cat", "label": "good"},
    {"text": "the cat sees a cat", "label": "bad"},
    {"text": "a dog", "label": "good"},
    {"text": "a cat", "label": "bad"},
] * 3


def test_the_word_that_decides_is_the_one_that_is_missed() -> None:
    found = importance(model(), ROWS, ImportanceSettings(samples=6))
    by_name = dict(zip([unit.text for unit in found.inputs.units], found.weights[0], strict=True))
    assert by_name["all of text"] > 20
    assert by_name[KEY] > 10
    assert by_name["the"] == by_name["sees"] == 0.0
    assert found.error is not None
    assert "12 rows, mean score 100" in found.source


def test_rows_and_words_are_as_many_as_asked_for_and_chance_is_seeded() -> None:
    settings = ImportanceSettings(samples=3, rows=5, words=1, seed=4)
    one, other = importance(model(), ROWS, settings), importance(model(), ROWS, settings)
    assert len(one.inputs) == 2
    assert one.source.startswith("5 rows")
    assert one.weights.tolist() == other.weights.tolist()


def test_likelihoods_are_shuffled_for_where_a_task_has_no_other_score() -> None:
    found = importance(made("language", "transformer_language"), [{"text": "the dog sees"}, {"text": "a cat"}])
    assert "mean score -" in found.source


def test_a_question_and_its_passage_are_columns_each() -> None:
    rows = [
        {"question": "who came ?", "passage": "anna came late .", "answers": '[{"text": "anna", "start": 0}]'},
        {"question": "who slept ?", "passage": "anna slept .", "answers": '[{"text": "anna", "start": 0}]'},
    ]
    found = importance(made("answering", "transformer"), rows, ImportanceSettings(samples=3, words=1))
    assert [unit.text for unit in found.inputs.units][:2] == ["all of question", "all of passage"]


def test_one_row_is_refused() -> None:
    with pytest.raises(DataError, match="give a data set of two or more"):
        importance(model(), ROWS[:1])
