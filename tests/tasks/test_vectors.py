"""One vector a row from every model with an encoder, whatever its task: the mean of the states of what is read."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.errors import RequestError
from regard.tasks import TASKS, Task

STACK: dict[str, Any] = {"width": 8, "layers": 1, "attention": {"heads": 2}}
MODELS: dict[str, dict[str, Any]] = {
    "transformer": {"name": "transformer", **STACK},
    "recurrent": {"name": "recurrent", "encoder": {"width": 8}, "decoder": {"width": 8}},
    "convolutional": {"name": "convolutional", "width": 8, "layers": 1},
}
ROWS: dict[str, Mapping[str, str]] = {
    "translation": {"source": "Anna came late.", "target": "Anna kam spät."},
    "summarization": {"document": "Anna came late.", "summary": "Late."},
    "dialogue": {"turns": "Anna came late.", "reply": "Did she?"},
    "tagging_generative": {"text": "Anna came late.", "tags": "B-PER O O"},
    "answering": {"question": "Who came?", "passage": "Anna came late.", "answers": "Anna"},
}
WRITING = [name for name in ROWS if name != "answering"]
# Every task with each of its models.
EVERY = [(task, model, {}) for task in WRITING for model in MODELS.values()] + [
    ("answering", {"name": "transformer", **STACK}, {}),
    ("answering", {"name": "recurrent", "width": 8}, {"head": "reader"}),
]


def made(name: str, model: dict[str, Any], **more: Any) -> tuple[Task, Any]:
    """A task and a model that learned nothing."""
    tied = {"tied": "output"} if name == "tagging_generative" else {}
    told = {"task": name, "data": {}, "tokenizer": {"size": 40}, "model": {**model, **tied}, **more}
    torch.manual_seed(0)
    task = TASKS[name].learn(TASKS[name].Recipe.read(told), [ROWS[name]] * 3, {})
    return task, task.model()


def vectors(task: Any, model: Any, rows: list[Mapping[str, str]], **predict: Any) -> list[Tensor]:
    recipe = task.recipe.model_copy(update={"predict": task.recipe.predict.model_copy(update=predict)})
    return list(task.embed(model, [task.asked(row) for row in rows], recipe))


@pytest.mark.parametrize(("name", "model", "more"), EVERY)
def test_a_row_has_one_vector_alone_and_in_company_and_nothing_has_zeros(name: str, model: Any, more: Any) -> None:
    task, made_model = made(name, model, **more)
    usual = ROWS[name]
    first = task.inputs()[-1]
    rows = [usual, {**usual, first: ""}, {**usual, first: f"{usual[first]} {usual[first]}"}]
    together = vectors(task, made_model.train(), rows)
    assert [tuple(vector.shape) for vector in together] == [(8,)] * 3
    assert not together[1].any()
    assert together[0].any()
    for row, vector in zip(rows, together, strict=True):
        torch.testing.assert_close(vectors(task, made_model, [row])[0], vector, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["translation", "summarization"])
def test_the_vector_is_the_mean_of_what_the_encoder_makes_of_the_source(name: str, model: str) -> None:
    task, reading = made(name, MODELS[model])
    tokenizer: Any = task.sides.source  # type: ignore[attr-defined]
    ids = tokenizer.encode(ROWS[name][task.inputs()[0]]).ids
    pieces = torch.tensor([[*tokenizer.opening, *ids, *tokenizer.closing]])
    with torch.inference_mode():
        wanted = reading.eval().encoder(pieces)[0].mean(0)
    torch.testing.assert_close(vectors(task, reading, [ROWS[name]])[0], wanted, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ["translation", "summarization", "tagging_generative", "answering"])
def test_of_a_long_row_every_part_counts(name: str) -> None:
    task, model = made(name, MODELS["transformer"])
    field = task.inputs()[-1]
    long, longest = {**ROWS[name], field: "Anna came late. " * 12}, 20
    how = {} if name == "translation" else {"long": "window"}
    (whole,), (parts,) = (vectors(task, model, [long], longest=most, **how) for most in (400, longest))
    assert parts.any()
    assert not torch.allclose(whole, parts)
    changed = {**long, field: long[field] + "late late late"}
    assert not torch.allclose(vectors(task, model, [changed], longest=longest, **how)[0], parts)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_is_refused_has_no_vector(name: str) -> None:
    task, model = made(name, MODELS["transformer"])
    long = {**ROWS[name], task.inputs()[-1]: "Anna came late. " * 12}
    with pytest.raises(RequestError, match=r"'Anna came late\. .*longer than predict\.longest = 20, .*refuse; set"):
        vectors(task, model, [ROWS[name], long], longest=20, long="refuse")


def test_a_model_without_an_encoder_has_no_vectors() -> None:
    task, model = made("dialogue", {"name": "transformer_language", **STACK})
    with pytest.raises(RequestError, match="use a model with an encoder"):
        vectors(task, model, [ROWS["dialogue"]])
