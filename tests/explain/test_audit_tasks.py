"""The audit of real tasks: classes, tags and answers, of models that are built and not trained."""

import json
from typing import Any

import jaxtyping
import pytest
import torch

from regard.api import Pipeline, read
from regard.api.auditing import audited
from regard.errors import ConfigError, DataError, RequestError
from regard.explain.audit import AuditSettings
from regard.tasks import TASKS

QUICK = AuditSettings(rows=2, few=0, permutations=2, tries=2, randoms=2, steps=2)
TRANSFORMER = {"name": "transformer", "width": 8, "layers": 1, "attention": {"heads": 2}}
RECURRENT = {"name": "recurrent", "width": 8}
TEXTS = ["the film was lovely", "a dull night out", "<b>cold</b> & \u202eloud", "funny"]
SMALL = {"tokenizer": {"kind": "words", "size": 100}}

ROWS: dict[str, list[dict[str, str]]] = {
    "classification": [{"text": text, "label": "ab"[place % 2]} for place, text in enumerate(TEXTS)],
    "language": [{"text": text} for text in TEXTS[:2]],
    "tagging": [{"text": text, "tags": " ".join(["B-PER", *["O"] * text.count(" ")])} for text in TEXTS],
    "answering": [{"question": "What was it ?", "passage": text, "answers": text.split()[-1]} for text in TEXTS],
}


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def pipeline(task: str, model: dict[str, Any], **other: Any) -> Pipeline:
    torch.manual_seed(0)
    data = {"train": {"path": "train.jsonl", "columns": {name: name for name in ROWS[task][0]}}}
    recipe = read({"task": task, "data": data, "model": model, **SMALL, **other})
    made = TASKS[task].learn(recipe, ROWS[task], {})
    return Pipeline(recipe, made, made.model().eval(), {}, {})


MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "classes by pooling": ("classification", RECURRENT, {}),
    "classes by self-attention": ("classification", TRANSFORMER, {"head": {"pooling": {"how": "mean"}}}),
    "tags": ("tagging", TRANSFORMER, {}),
    "words that follow": ("language", TRANSFORMER | {"name": "transformer_language"}, {}),
    "answers": ("answering", TRANSFORMER, {}),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_task_can_be_audited(name: str) -> None:
    task, model, other = MODELS[name]
    made = pipeline(task, model, **other)
    found = audited(made, ROWS[task], QUICK, {"itself": made})
    json.dumps(found.plain(), allow_nan=False)
    assert found.texts == 2
    assert found.exchanges["permuted"].flips is not None
    assert found.seeds["itself"].value == pytest.approx(1)
    assert found.judged == "attention"


def test_a_classifier_without_attention_is_told_to_have_none() -> None:
    found = audited(
        pipeline("classification", RECURRENT, head={"pooling": {"how": "mean"}}), ROWS["classification"], QUICK
    )
    assert found.trust == "none"
    assert "has no attention" in found.sentences[0]


def test_no_rows_and_other_tasks_are_refused() -> None:
    made = pipeline("classification", RECURRENT)
    with pytest.raises(DataError, match="no line to audit"):
        audited(made, [])
    with pytest.raises(ConfigError, match="does tagging, not classification"):
        audited(made, ROWS["classification"], QUICK, {"other": pipeline("tagging", TRANSFORMER)})
    with pytest.raises(RequestError, match="at least one word"):
        audited(made, [{"text": " ", "label": "a"}])


def test_empty_rows_are_left_out_and_the_others_audited() -> None:
    rows = [{"text": "", "label": "a"}, *ROWS["classification"][:2]]
    found = audited(pipeline("classification", RECURRENT), rows, QUICK.model_copy(update={"rows": 3}))
    assert (found.texts, found.left_out) == (2, 1)
