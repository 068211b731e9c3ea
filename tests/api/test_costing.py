"""What rounding costs, told by the recipe's own metrics on validation."""

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import torch

from regard.api import Materials, Pipeline
from regard.api.costing import ROWS, costs
from regard.api.exporting import export
from regard.engines import Engine


def test_another_model_costs_what_its_scores_are_apart(model: Pipeline) -> None:
    spoilt = deepcopy(model.model)
    with torch.no_grad():
        for parameter in spoilt.parameters():
            parameter.add_(torch.randn_like(parameter))
    rows = [row.fields for row in Materials(model.recipe).valid]
    for other in (model.model, spoilt):
        found = costs(model, Engine("other", other), model.recipe)
        before, after = (
            replace(model, model=one).judged(rows, model.recipe.metrics).scores for one in (model.model, other)
        )
        assert len(rows) < ROWS
        assert [one.metric for one in found] == list(before)
        assert [(one.rows, one.before, one.after) for one in found] == [
            (len(rows), before[name].value, after[name].value) for name in before
        ]
    assert str(found[0]).endswith(f"{found[0].after - found[0].before:+.2f}")


def test_without_the_files_of_validation_nothing_is_told(model: Pipeline, tmp_path: Path) -> None:
    gone = model.with_settings(f"data.root={tmp_path}").recipe
    assert costs(model, Engine("same", model.model), model.recipe)
    assert not costs(model, Engine("same", model.model), gone)


def test_a_quantized_export_tells_what_it_costs(model: Pipeline, tmp_path: Path) -> None:
    made = export(model, "ctranslate2", tmp_path / "small", "int8")
    assert [cost["metric"] for cost in made.plain()["costs"]] == [cost.metric for cost in made.costs]
    assert str(made.costs[0]) in json.loads((made.folder / "export.json").read_text())["verified"]
    assert not export(model, "ctranslate2", tmp_path / "whole").costs
