"""What every task does alike, from its starter corpus to a bundle: one walk for all."""

import json
from pathlib import Path

import pytest
import torch

import regard
from regard.api import Materials, Pipeline
from regard.api.checks import check
from regard.demo import DEMOS
from regard.errors import RequestError
from regard.starter import WRITERS
from regard.tasks import TASKS

HURRIED = (
    "train.updates=4",
    "train.every=2",
    "train.log=1",
    "search.longest_factor=0.5",
    "search.longest_extra=4",
    "predict.rows=4",
)
NASTY = ["", " ", "a", "\x00\x01", "line\nline", "e\u0301" * 5, "你好，世界", "half \ud83d", "<end> {0} %s", "x" * 3000]


@pytest.fixture(scope="module", params=sorted(DEMOS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a task that hardly learned anything."""
    task, folder = request.param, tmp_path_factory.mktemp(request.param)
    WRITERS[task](folder / "data", 80, 8, 0)
    recipe = DEMOS[task].recipe(folder / "data", 1)
    known = {name.split(".")[0] for name in TASKS[task].Recipe.model_fields}
    changes = [change for change in HURRIED if change.split(".")[0] in known]
    regard.train(recipe, folder / "run", changes)
    return folder / "run"


@pytest.fixture(scope="module")
def model(run: Path) -> Pipeline:
    return regard.load(run)


def test_every_task_has_a_demo_but_those_that_go_on_from_another() -> None:
    assert set(TASKS) - set(DEMOS) <= {"translation", "embedding", "masked", "tagging_generative"}


def test_every_promise_is_kept(run: Path) -> None:
    broken = [finding for finding in check(run) if finding.level == "error"]
    assert not broken


def test_a_trained_model_scores_what_its_bundle_says(run: Path, model: Pipeline) -> None:
    found = model.evaluate(Materials(model.recipe).valid)
    told = json.loads((run / "bundle" / "scores.json").read_text("utf-8"))["valid"]
    assert {name: score.value for name, score in found.scores.items()} == pytest.approx(
        {name: score["value"] for name, score in told.items()}, abs=1e-3
    )
    assert all(score.signature for score in found.scores.values())


def test_as_many_results_as_inputs_whatever_they_are(model: Pipeline) -> None:
    rows = [dict.fromkeys(model.task.inputs(), text) for text in NASTY]
    together = model.predict(rows)
    assert len(together) == len(rows)
    assert [one.text for one in together] == [model.predict([row])[0].text for row in rows]
    assert all(one.status for one in together)


def test_a_line_of_text_is_an_input(model: Pipeline) -> None:
    line = "\t".join("The dog sleeps in Austin." for _ in model.task.inputs())
    assert model.predict([line])[0].text == model.predict([model.task.row(line)])[0].text


def test_every_model_with_an_encoder_gives_vectors(model: Pipeline) -> None:
    rows = [model.asked(row.fields) for row in Materials(model.recipe).valid]
    if not hasattr(model.model, "encoder"):
        with pytest.raises(RequestError, match="use a model with an encoder"):
            list(model.embed(rows))
        return
    together = torch.stack(list(model.embed(rows)))
    alone = torch.stack([vector for row in rows for vector in model.embed([row])])
    assert together.shape == (len(rows), model.model.encoder.width)
    torch.testing.assert_close(alone, together, atol=1e-4, rtol=1e-4)


def test_results_are_json(model: Pipeline) -> None:
    rows = [model.asked(row.fields) for row in Materials(model.recipe).valid]
    for result in model.predict(rows):
        told = result.plain()
        assert json.loads(json.dumps(told, allow_nan=False)) is not None
        assert told["status"]


def test_what_settles_ends_with_the_result(model: Pipeline) -> None:
    row = model.asked(next(iter(Materials(model.recipe).valid)).fields)
    *growing, whole = model.settle(row)
    assert not isinstance(whole, str)
    assert whole.text == model.predict([row])[0].text
    assert all(isinstance(text, str) for text in growing)
