"""Every task with every family of models it can have: each method explains it, or says in one sentence why not."""

import json
from functools import cache
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

from regard.api import Pipeline
from regard.api.aligning import align
from regard.api.explaining import explained, subject
from regard.errors import RequestError
from regard.explain.asking import still
from regard.explain.methods import METHODS
from regard.models import ENCODERS, MODELS
from regard.tasks import TASKS
from tests.explain.toys import moved

TOP = {"width": 8, "layers": 1, "attention": {"heads": 2}, "feedforward": {"hidden": 8}}
READERS: dict[str, dict[str, Any]] = {
    "transformer": TOP,
    "recurrent": {"width": 8},
    "convolutional": {"width": 8, "layers": 1},
    "wide": {"width": 9},
}
WRITERS: dict[str, dict[str, Any]] = {
    "transformer": TOP,
    "recurrent": {"encoder": {"width": 8}, "decoder": {"width": 8}},
    "convolutional": {"width": 8, "layers": 1},
}
LANGUAGES: dict[str, dict[str, Any]] = {"transformer_language": TOP, "recurrent_language": {"width": 8}}
KINDS = {
    "answering": READERS,
    "answering, read apart": READERS,
    "classification": READERS,
    "embedding": READERS,
    "masked": READERS,
    "tagging": READERS,
    "dialogue": WRITERS | LANGUAGES,
    "language": LANGUAGES,
    "summarization": WRITERS | LANGUAGES,
    "tagging_generative": WRITERS,
    "translation": WRITERS,
}
EVERY = [(task, model) for task, models in KINDS.items() for model in models]

TEXT = "the dog sees a cat"
ROWS: dict[str, dict[str, str]] = {
    "answering": {
        "question": "who came ?",
        "passage": "anna came late .",
        "answers": json.dumps([{"text": "anna", "start": 0}]),
    },
    "classification": {"text": TEXT, "label": "good"},
    "dialogue": {"turns": json.dumps(["who came ?"]), "reply": "anna came late"},
    "embedding": {"text": TEXT},
    "language": {"text": TEXT},
    "masked": {"text": TEXT},
    "summarization": {"document": "anna came late . bob slept .", "summary": "anna came"},
    "tagging": {"text": TEXT, "tags": "O B-X O O B-X"},
    "tagging_generative": {"text": TEXT, "tags": "O B-X O O B-X"},
    "translation": {"source": TEXT, "target": "der hund sieht eine katze"},
}
QUICK = {
    "lime": ["samples=20"],
    "shapley": ["samples=4"],
    "integrated_gradients": ["steps=4", "most=4"],
}


@cache
def made(kind: str, model: str) -> Pipeline:
    """A model that learned nothing, with the pieces of a few rows."""
    task = kind.split(",")[0]
    given: dict[str, Any] = {"task": task, "model": {"name": model, **KINDS[kind][model]}}
    columns = {name: number for number, name in enumerate(ROWS[task], 1)}
    given["data"] = {"train": {"path": "train.tsv", "columns": columns}}
    if task not in ("embedding", "masked"):
        given["tokenizer"] = {"kind": "words", "size": 60}
    if kind == "answering, read apart":
        given["head"] = {"name": "reader", "width": 8}
    if task == "tagging_generative" and model == "transformer":
        given["model"]["tied"] = "output"
    if task == "language":
        given["predict"] = {"pieces": 3}
    recipe = TASKS[task].Recipe.read(given)
    torch.manual_seed(0)
    learned = _learned(task, recipe)
    return Pipeline(recipe, learned, moved(learned.model(), 1), {}, {})


def _learned(task: str, recipe: Any) -> Any:
    rows = [ROWS[task], *([{"text": "a cat", "label": "bad"}] if task == "classification" else [])]
    if task == "embedding":
        return TASKS[task].load(recipe, made("masked", "recurrent").task.files())
    return TASKS[task].learn(recipe, rows * 3, {})


def asked(model: Pipeline) -> tuple[dict[str, str], str | None]:
    """What is explained, and the target where one is needed."""
    task = model.recipe.task
    row = {name: text for name, text in ROWS[task].items() if name in model.task.inputs()}
    if task == "masked":
        return {"text": "the <mask> sees a <mask>"}, None
    written = task in ("translation", "summarization", "dialogue", "language")
    target = {"embedding": "a dog sees"}.get(task, " ".join(ROWS[task][model.task.fields[-1]].split()[-2:]))
    return row, target if written or task == "embedding" else None


def test_no_task_and_no_family_is_left_out() -> None:
    assert {kind.split(",")[0] for kind in KINDS} == set(TASKS)
    assert set(READERS) == set(ENCODERS)
    assert set(WRITERS | LANGUAGES) == set(MODELS)


@pytest.mark.parametrize(("kind", "family"), EVERY)
def test_versions_score_together_as_each_alone(kind: str, family: str) -> None:
    model = made(kind, family)
    found = subject(model, *asked(model))
    assert len(found.inputs) == len(found.pieces)
    versions = found.pieces.repeat(2, 1)
    versions[1, -2] = found.blank
    with torch.inference_mode(), still(found.model):
        together = found.scores(versions)
        alone = torch.cat([found.scores(version[None]) for version in versions])
    assert together.shape == (2, len(found.outputs))
    assert bool((together <= 1e-5).all())
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("kind", "family"), EVERY)
def test_a_method_explains_it_or_says_in_a_sentence_why_not(
    kind: str, family: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Shapes are checked where each method is tested; here they would take longer than all the rest.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    model = made(kind, family)
    row, target = asked(model)
    if refusal := refused(kind, family, name):
        with pytest.raises(RequestError, match=refusal):
            model.explain(row, name, target, QUICK.get(name, ()))
        return
    found = model.explain(row, name, target, QUICK.get(name, ()))
    assert found.weights.shape == (len(found.outputs), len(found.inputs))
    assert np.isfinite(found.weights).all()
    assert np.abs(found.weights).sum() > 0


def refused(kind: str, family: str, name: str) -> str:
    """What a method that does not apply says; nothing where it does."""
    if METHODS[name].needs != "attention":
        return ""
    pooled = kind in ("classification", "answering, read apart")
    if family == "recurrent_language" or (KINDS[kind] is READERS and family != "transformer" and not pooled):
        return f"{name} reads attention, and this model has none; use one of"
    if name in ("rollout", "flow") and (family != "transformer" or kind == "answering, read apart"):
        return "" if family == "transformer_language" else "follows attention through layers of self-attention"
    return ""


def test_pieces_put_at_marks_are_as_likely_as_the_prediction_says() -> None:
    model = made("masked", "transformer")
    row, _ = asked(model)
    found, [told] = subject(model, row), model.predict([row])
    with torch.inference_mode():
        chances = found.scores(found.pieces[None])[0].exp().tolist()
    assert chances == pytest.approx([fills[0].probability for fills in told.fills], abs=1e-5)
    assert [unit.text for unit in found.outputs.units] == [fills[0].text for fills in told.fills]
    assert [unit.text for unit in found.inputs.units if unit.special][:2] == ["<mask>", "<mask>"]


def test_words_around_a_mark_stand_where_they_are_in_the_text() -> None:
    found = subject(made("masked", "transformer"), {"text": "the <mask> sees a cat"})
    for unit in found.inputs.units:
        if unit.span is not None and not unit.special:
            assert found.inputs.text[slice(*unit.span)] == unit.text
    assert found.inputs.text.replace(" ", "") == "the<mask>seesacat"


def test_a_text_without_a_mark_says_where_to_put_one() -> None:
    with pytest.raises(RequestError, match="write <mask> where"):
        subject(made("masked", "transformer"), {"text": "the dog sees a cat"})


def test_written_tags_are_as_likely_as_the_prediction_says() -> None:
    model = made("tagging_generative", "transformer")
    row, _ = asked(model)
    found, [told] = subject(model, row), model.predict([row])
    with torch.inference_mode():
        score = float(found.scores(found.pieces[None])[0].mean())
    assert score == pytest.approx(told.score, abs=1e-5)


def test_how_alike_texts_are_is_told_of_their_vectors() -> None:
    model = made("embedding", "transformer")
    one, other = (torch.tensor(found.vector) for found in model.predict(["the dog sees a cat", "a dog sees"]))
    found = subject(model, "the dog sees a cat", "a dog sees")
    with torch.inference_mode():
        alike = float(found.scores(found.pieces[None])[0].exp()) * 2 - 1
    assert alike == pytest.approx(float(torch.cosine_similarity(one, other, dim=0)), abs=1e-5)
    with pytest.raises(RequestError, match="give --target"):
        subject(model, "the dog sees a cat")


def test_a_reader_of_two_texts_shows_what_the_passage_asks_of_the_question() -> None:
    model = made("answering, read apart", "transformer")
    row, _ = asked(model)
    found = model.explain(row, "weights", words=False)
    asked_pieces = 3
    assert found.weights[:asked_pieces].sum() == 0
    assert found.weights[asked_pieces:, :asked_pieces].sum(1) == pytest.approx(1.0, abs=1e-4)
    inside = model.explain(row, "weights", changes=["kind=self"], words=False).weights
    assert inside[:asked_pieces, asked_pieces:].sum() == inside[asked_pieces:, :asked_pieces].sum() == 0
    assert inside.sum(1) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("kind", ["answering, read apart", "masked", "tagging_generative"])
def test_integrated_gradients_are_complete(kind: str) -> None:
    model = made(kind, "transformer")
    found = model.explain(asked(model)[0], "integrated_gradients")
    assert found.check["completeness"] < 0.01


def test_attention_is_followed_to_the_word_a_tag_is_of() -> None:
    model = made("tagging", "transformer")
    row, _ = asked(model)
    weights = model.explain(row, "rollout", changes=["residual=1.0"]).weights
    assert np.allclose(weights[:, : len(weights)], np.eye(len(weights)), atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "given", "other", "told"),
    [
        ("classification", "good", "bad", "good not bad"),
        ("translation", "eine katze", "der hund sieht", "eine not der"),
        ("tagging", "O B-X O O B-X", "B-X B-X O O O", "the/O not the/B-X"),
    ],
)
def test_why_this_and_not_that_is_the_difference_of_both(kind: str, given: str, other: str, told: str) -> None:
    model = made(kind, "transformer")
    row = asked(model)[0]
    why = explained(model, row, "occlusion", given, words=False, instead=other)
    one, two = (explained(model, row, "occlusion", text, words=False) for text in (given, other))
    assert [unit.text for unit in why.outputs.units] == [told]
    np.testing.assert_allclose(why.weights[0], one.weights[0] - two.weights[0], atol=1e-5)


def test_attention_does_not_tell_two_outputs_apart() -> None:
    model = made("classification", "transformer")
    with pytest.raises(RequestError, match="does not tell two outputs apart; use one of input_gradient"):
        explained(model, asked(model)[0], "rollout", "good", instead="bad")


@pytest.mark.parametrize("kind", ["classification", "tagging"])
def test_a_task_that_writes_nothing_has_nothing_to_align(kind: str) -> None:
    model = made(kind, "transformer")
    with pytest.raises(RequestError, match=f"The task {kind} writes no words"):
        align(model, asked(model)[0])
