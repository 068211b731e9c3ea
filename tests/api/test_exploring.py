"""Predictions explored: the maps are those of `weights`, the tree ends in the result, and every task has its own."""

import json
from base64 import b64decode
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

from regard.api import Materials, Pipeline, read
from regard.api.explaining import subject
from regard.api.exploration import Exploration
from regard.api.exploring import At, cell
from regard.demo import DEMOS
from regard.errors import RegardError, RequestError
from regard.explain.weights import WeightsSettings, weights
from regard.starter import WRITERS
from regard.tasks import TASKS
from tests.api.toy import RECURRENT, TRANSFORMER, book
from tests.explain.toys import moved

JOINT = TRANSFORMER | {"cross": "joint"}
WRITERS_OF_TEXT = {"transformer": TRANSFORMER, "recurrent": RECURRENT, "joint": JOINT}
PAIRS = [{"source": source, "target": target} for source, target in book().train[:200]]
GIVEN = PAIRS[0]["source"]
SEARCH = {"beams": 3, "best": 2, "longest_factor": 0.0, "longest_extra": 7}


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checking shapes, which takes longer than the models do; other tests check them."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def built(recipe: dict[str, Any], rows: list[dict[str, str]]) -> Pipeline:
    """A model that learned nothing, every parameter off its start."""
    torch.manual_seed(0)
    settings = read(recipe)
    task = TASKS[settings.task].learn(settings, rows, {})
    return Pipeline(settings, task, moved(task.model()), {}, {})


@cache
def translator(model: str = "transformer", **search: Any) -> Pipeline:
    files = {"source": "train.en", "target": "train.de"}
    recipe = {"task": "translation", "data": {"train": {"files": files}}, "tokenizer": {"size": 300}}
    return built({**recipe, "model": WRITERS_OF_TEXT[model], "search": {**SEARCH, **search}}, PAIRS)


@cache
def demo(task: str) -> tuple[Pipeline, dict[str, str]]:
    """The demo of a task, not trained, and the shortest of its inputs."""
    folder = Path(mkdtemp())
    WRITERS[task](folder, 40, 6, 0)
    recipe = DEMOS[task].recipe(folder, 1)
    recipe["predict" if task == "language" else "search"] = {"pieces": 5} if task == "language" else SEARCH
    if task in ("classification", "tagging", "answering"):
        del recipe["search"]
    rows = [row.fields for row in Materials(read(recipe)).valid]
    pipeline = built(recipe, rows)
    asked = min((pipeline.asked(row) for row in rows), key=lambda row: len(str(row)))
    return pipeline, {"text": "Once upon a time"} if task == "language" else asked


def arrays(found: Exploration) -> dict[str, np.ndarray]:
    """The maps as a page reads them."""
    plain = json.loads(json.dumps(found.plain(), allow_nan=False))
    shapes = {
        one["name"]: [one[side] for side in ("layers", "heads", "rows", "columns")] for one in plain["attentions"]
    }
    data = {one["name"]: np.frombuffer(b64decode(one["bytes"]), np.uint8) for one in plain["attentions"]}
    return {name: data[name].reshape(shapes[name]) / 255 for name in data}


def same_as_weights(pipeline: Pipeline, given: Any, found: Exploration) -> None:
    one, drawn = subject(pipeline, given), arrays(found)
    for grid in (grid for grid in found.grids if not grid.stack.name.endswith("/outputs")):
        look = grid.stack.look
        for layer, heads in enumerate(grid.stack.heads):
            for head in {0, heads - 1}:
                settings = WeightsSettings(kind=look.kind, queries=look.queries, layer=layer, head=head)
                expected = weights(one, settings).weights
                expected = expected[:1] if look.queries == "one" else expected
                np.testing.assert_allclose(drawn[grid.stack.name][layer, head], expected, atol=0.51 / 255)


@pytest.mark.parametrize("model", WRITERS_OF_TEXT)
def test_every_map_of_a_translator_is_what_weights_shows(model: str) -> None:
    found = translator(model).explore(GIVEN)
    same_as_weights(translator(model), GIVEN, found)
    expected = {
        "transformer": {"decoder.blocks.*.cross", "decoder.blocks.*.attention", "encoder.stack.blocks.*.attention"},
        "recurrent": {"attention"},
        "joint": {
            "decoder.blocks.*.attention",
            "decoder.blocks.*.attention/outputs",
            "encoder.stack.blocks.*.attention",
        },
    }
    assert {grid.stack.name for grid in found.grids} == expected[model]
    assert max(grid.check for grid in found.grids) < 1e-5


@pytest.mark.parametrize("task", sorted(DEMOS))
def test_every_demo_is_explored(task: str) -> None:
    pipeline, given = demo(task)
    found = pipeline.explore(given)
    assert found.result == pipeline.predict([given])[0]
    assert len(found.probabilities) == len(found.outputs) == len(found.alternatives)
    same_as_weights(pipeline, given, found)
    plain = found.plain()
    assert (not found.grids) == ("no attention" in " ".join(plain["notes"]))
    assert (not found.grids) == (task == "tagging")
    for axis, words in ((found.inputs, plain["words"]["inputs"]), (found.outputs, plain["words"]["outputs"])):
        assert [piece for first, end in words for piece in range(first, end)] == list(range(len(axis)))
    writes = task in ("summarization", "language", "dialogue")
    assert (found.tree is not None) == (found.pieces is not None) == writes


def test_rows_of_one_text_sum_to_one_over_prompt_and_earlier_outputs() -> None:
    pipeline, given = demo("language")
    inputs, outputs = arrays(pipeline.explore(given)).values()
    np.testing.assert_allclose((inputs.sum(-1) + outputs.sum(-1)), 1.0, atol=0.05)
    assert not outputs[..., 0].any()


@pytest.mark.parametrize("search", [{}, {"method": "greedy", "best": 1}, {"method": "diverse"}, {"method": "sample"}])
@pytest.mark.parametrize("model", ["transformer", "recurrent"])
def test_the_tree_ends_in_the_result(model: str, search: dict[str, Any]) -> None:
    pipeline = translator(model, **search)
    found = pipeline.explore(GIVEN)
    assert found.result == pipeline.predict([GIVEN])[0]
    won = found.tree.won
    tokenizer = pipeline.task.sides.target
    assert tuple(tokenizer.piece(node.piece) for node in won)[: len(found.result.pieces)] == found.result.pieces
    assert won[-1].score == found.result.score
    told = [node["probability"] for node in found.plain()["tree"]["nodes"] if node["state"] == "won"]
    assert told == pytest.approx(found.result.probabilities, abs=1e-6)
    ends = "complete" in found.result.status
    assert found.probabilities[: len(told)] == pytest.approx(found.result.probabilities, abs=1e-4)
    assert found.pieces == tuple(node.piece for node in won)[: None if not ends else -1]


def test_looking_changes_nothing_alone_or_in_company() -> None:
    pipeline, others = translator(), [row["source"] for row in PAIRS[:4]]
    before = pipeline.predict(others)
    found = [pipeline.explore(text) for text in others]
    assert pipeline.predict(others) == before
    for one, company in zip(found, before, strict=True):
        assert (one.result.text, one.result.status, one.result.pieces) == (company.text, company.status, company.pieces)
        assert one.result.score == pytest.approx(company.score, abs=1e-4)


def test_the_likeliest_of_each_place_are_told_and_what_was_written_is_among_them() -> None:
    pipeline = translator("recurrent", method="greedy", best=1)
    found = pipeline.explore(GIVEN)
    never = {*pipeline.task.sides.banned, pipeline.task.sides.target.begin}
    for piece, chance, place in zip(found.pieces, found.probabilities, found.alternatives, strict=False):
        assert len(place) == 5
        assert [one.probability for one in place] == sorted((one.probability for one in place), reverse=True)
        assert place[0].piece == piece
        assert place[0].probability == pytest.approx(chance, abs=1e-6)
        assert not {one.piece for one in place} & never


@pytest.mark.parametrize("task", ["translation", "summarization", "dialogue", "language"])
def test_any_alternative_can_be_forced_piece_by_piece(task: str) -> None:
    pipeline, given = (translator(), {"source": GIVEN}) if task == "translation" else demo(task)
    found = pipeline.explore(given)
    place = min(2, len(found.pieces) - 1)
    other = next(one for one in found.alternatives[place][1:] if not one.ends)
    prefix = [*found.pieces[:place], other.piece]
    row = {**given, "prefix_pieces": json.dumps(prefix)}
    again = pipeline.explore(row)
    assert list(again.pieces[: len(prefix)]) == prefix
    assert again.result == pipeline.predict([row])[0]
    assert tuple(node.piece for node in again.tree.won[: len(prefix)]) == tuple(prefix)
    assert again.probabilities[place] == pytest.approx(other.probability, abs=1e-4)
    told = pipeline.whatif(given, prefix=prefix)
    assert told.after.text == again.outputs.text
    assert told.before.text == found.outputs.text


def test_an_output_of_ones_own_is_explored_without_a_search() -> None:
    pipeline = translator()
    found = pipeline.explore(GIVEN, target="das haus")
    assert (found.result, found.tree) == (None, None)
    assert found.outputs.text == "das haus"
    known = pipeline.explore(GIVEN)
    again = pipeline.explore({"source": GIVEN, "output_pieces": json.dumps(known.pieces)})
    assert again.result is None
    assert again.outputs == known.outputs
    np.testing.assert_array_equal(again.grids[0].weights, known.grids[0].weights)


def test_a_cell_is_told_with_the_numbers_of_the_map() -> None:
    pipeline = translator()
    found = pipeline.explore(GIVEN)
    row = {"source": GIVEN, "output_pieces": json.dumps(found.pieces)}
    drawn = found.grids[0].weights[1, 0] / 255
    for column in range(3):
        told = cell(pipeline, row, At(found.grids[0].stack.name, 1, 0, 2, column))
        assert told.weight == pytest.approx(drawn[2, column], abs=0.51 / 255)
    with pytest.raises(RequestError, match=r"Unknown attention.*cross"):
        cell(pipeline, row, At("decoder.blocks.*.crosss", 0, 0, 0, 0))


def test_a_long_text_is_drawn_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = translator()
    long = " ".join([GIVEN] * 30)
    whole = pipeline.explore(long, target="das")
    pieces = len(whole.inputs)
    assert pieces > 200
    few = pipeline.explore(long, target="das", changes=["cells=20000"])
    assert [stack.name for stack in few.left_out] == ["encoder.stack.blocks.*.attention"]
    assert "explore.cells = 20,000" in few.notes[0]
    assert few.plain()["attentions"][-1]["bytes"] is None
    with pytest.raises(RequestError, match=r"more than explore\.cells"):
        pipeline.explore(long, target="das", changes=["cells=20000", 'attentions=["encoder.stack.blocks.*.attention"]'])
    # Where weights are many, heads are taken one after the other; the maps are the same.
    monkeypatch.setattr("regard.explain.grid.MANY_WEIGHTS", pieces * pieces)
    monkeypatch.setattr("regard.explain.grid.MANY_TOGETHER", pieces * pieces)
    for one, other in zip(whole.grids, pipeline.explore(long, target="das").grids, strict=True):
        assert int(np.abs(one.weights.astype(int) - other.weights).max()) <= 1


def test_of_a_source_in_parts_one_is_shown() -> None:
    pipeline = translator().with_settings("predict.longest=12")
    texts = [row["source"] for row in PAIRS[:3]]
    found = [pipeline.explore(" ".join(texts), changes=[f"part={number}"]) for number in range(2)]
    assert found[0].parts > 1
    assert "part 2" in found[1].notes[0]
    assert found[0].inputs.text != found[1].inputs.text
    assert found[0].result == found[1].result == pipeline.predict([" ".join(texts)])[0]
    for one in found:
        alone = pipeline.explore(one.inputs.text)
        assert (one.tree, one.pieces, one.inputs) == (alone.tree, alone.pieces, alone.inputs)
    forced = pipeline.explore(
        {"source": " ".join(texts), "prefix_pieces": json.dumps(found[1].pieces[:2])}, changes=["part=1"]
    )
    assert forced.pieces[:2] == found[1].pieces[:2]
    with pytest.raises(RequestError, match="no part 99"):
        pipeline.explore(" ".join(texts), changes=["part=99"])


def test_some_layers_of_some_attentions_can_be_asked_for() -> None:
    pipeline = translator()
    whole = pipeline.explore(GIVEN)
    some = pipeline.explore(GIVEN, changes=['attentions=["decoder.blocks.*.cross"]', "layers=[1]"])
    [grid] = some.grids
    assert some.plain()["attentions"][0]["numbers"] == [1]
    np.testing.assert_array_equal(grid.weights[0], whole.grids[0].weights[1])


@pytest.mark.parametrize(
    ("given", "changes", "told"),
    [
        (" ", (), "at least one word"),
        (GIVEN, ["layers=[7]"], "no layer 7"),
        (GIVEN, ['attentions=["corss"]'], "Unknown attention"),
        (GIVEN, ["nodse=3"], "nodes"),
        ({"source": GIVEN, "prefix_pieces": "[1.5]"}, (), "prefix_pieces"),
        ({"source": GIVEN, "prefix_pieces": "[99999]"}, (), "99999"),
        ({"source": GIVEN, "output_pieces": "[99999]"}, (), "99999"),
        ({"source": GIVEN, "output_pieces": f"[{10**40}]"}, (), "output_pieces"),
    ],
)
def test_what_cannot_be_explored_is_one_sentence(given: Any, changes: Any, told: str) -> None:
    with pytest.raises(RegardError, match=told):
        translator().explore(given, changes=changes)
