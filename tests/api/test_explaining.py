"""Predictions of every task explained: the axes are the texts, and the scores are the model's own."""

from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.api import Materials, Pipeline
from regard.api.explaining import subject
from regard.demo import DEMOS
from regard.errors import RegardError, RequestError
from regard.explain.methods import METHODS
from regard.explain.rendering import RENDERERS, render
from regard.starter import WRITERS

HURRIED = ("train.updates=3", "train.every=3", "search.longest_factor=0.3", "search.longest_extra=3", "predict.rows=4")
QUICK = {"lime": ["samples=60"], "shapley": ["samples=12"], "integrated_gradients": ["steps=4"]}


def made(task: str, folder: Path) -> Pipeline:
    WRITERS[task](folder / "data", 60, 6, 0)
    recipe = DEMOS[task].recipe(folder / "data", 1)
    if task == "answering":
        recipe["head"] = {"name": "spans"}
    if task == "language":
        recipe["predict"] = {"pieces": 4}
    changes = [change for change in HURRIED if task != "language" or not change.startswith("search")]
    return regard.train(recipe, folder / "run", changes)


@pytest.fixture(scope="module", params=sorted(DEMOS))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return made(request.param, tmp_path_factory.mktemp(request.param))


def row(model: Pipeline) -> dict[str, str]:
    rows = [model.asked(row.fields) for row in Materials(model.recipe).valid]
    found = dict(min(rows, key=lambda each: len(next(iter(each.values())))))
    if model.recipe.task == "language":
        found["text"] = "Once upon a time"
    return found


def test_scores_of_the_subject_are_what_the_model_says_of_its_own_output(model: Pipeline) -> None:
    found = subject(model, row(model))
    with torch.inference_mode():
        log = found.scores(found.pieces[None])
    assert log.shape == (1, len(found.outputs))
    assert bool((log <= 1e-5).all())
    assert len(found.inputs) == len(found.pieces)


def test_several_versions_score_as_each_alone(model: Pipeline) -> None:
    found = subject(model, row(model))
    versions = found.pieces.repeat(3, 1)
    versions[1, len(found.pieces) // 2] = found.blank
    with torch.inference_mode():
        together = found.scores(versions)
        alone = torch.cat([found.scores(version[None]) for version in versions])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=0)
    torch.testing.assert_close(together[0], together[2], atol=1e-5, rtol=0)


def test_units_that_have_a_span_stand_there(model: Pipeline) -> None:
    found = subject(model, row(model))
    for axis in (found.inputs, found.outputs):
        for unit in axis.units:
            if unit.span is not None and not unit.special:
                assert 0 <= unit.span[0] <= unit.span[1] <= len(axis.text)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_explains_or_says_in_a_sentence_why_not(model: Pipeline, name: str) -> None:
    try:
        found = model.explain(row(model), name, changes=QUICK.get(name, ()))
    except RequestError as error:
        told = str(error)
        assert "\n" not in told, told
        return
    assert found.weights.shape == (len(found.outputs), len(found.inputs))
    assert np.isfinite(found.weights).all()
    assert found.caveat
    assert all(render(found, suffix) for suffix in RENDERERS)


def test_a_target_of_ones_own_is_explained(model: Pipeline) -> None:
    given = row(model)
    target = {"classification": "neutral", "answering": ""}.get(model.recipe.task)
    if model.recipe.task == "tagging":
        target = " ".join("O" for _ in model.predict([given])[0].words)
    found = subject(model, given, "the end" if target is None else target)
    assert len(found.outputs)


def test_nothing_to_explain_is_one_sentence(model: Pipeline) -> None:
    with pytest.raises(RequestError, match="at least one word"):
        model.explain(dict.fromkeys(model.task.inputs(), " "))


def test_what_does_not_exist_is_told(model: Pipeline) -> None:
    with pytest.raises(RegardError, match="weights"):
        model.explain(row(model), "wieghts")
    with pytest.raises(RegardError, match=r"layer|attention|Method"):
        model.explain(row(model), "weights", changes=["layer=77"])
