"""Heads that are removed for good: what is left is smaller, does what it did with them silent, and loads as ever."""

import copy
import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.api import Pipeline, load, read
from regard.api.explaining import subject
from regard.api.pruning import importance, least, measured, pruned, without
from regard.attention import HeadsSettings, MultiHeadAttention
from regard.attention.pruning import keep, prune
from regard.errors import ConfigError, RequestError
from regard.explain.heads import HeadTable, silenced
from regard.metrics import METRICS, Metric
from regard.metrics.metric import References
from regard.models import Vocabulary, build
from regard.tasks import TASKS
from regard.tasks.filling import Filling
from tests.api.toy import book, recipe
from tests.cli.toy import regard
from tests.explain.toys import PIECES, SMALL, Toy, classifier, language, moved, translator

HEADS = 4
WIDE = SMALL | {"attention": {"heads": HEADS}}
ATTENTIONS: list[dict[str, Any]] = [
    {},
    {"score": "general"},
    {"score": "additive"},
    {"score": "cosine"},
    {"output": "scored"},
    {"output": "attentional"},
    {"normalizer": {"name": "softmax", "learned": True}},
    {"groups": 2},
    {"groups": 1},
    {"groups": 2, "each": 6, "normed": True},
]
KEPT = {
    "decoder.blocks.0.cross": [1],
    "encoder.stack.blocks.1.attention": [0, 3],
    "decoder.blocks.1.attention": [0, 1, 3],
}


def without_heads(toy: Toy, kept: dict[str, list[int]]) -> Tensor:
    """Scores of the whole model with all other heads silent."""
    looks = {look.tap.removesuffix(".mechanism.weights"): look for look in toy.looks}
    with ExitStack() as quiet, torch.no_grad():
        for name, heads in kept.items():
            quiet.enter_context(silenced(toy, looks[name], [head for head in range(HEADS) if head not in heads]))
        return toy.scores(toy.pieces[None])


def cut(toy: Toy, kept: dict[str, list[int]]) -> Toy:
    small = copy.deepcopy(toy.model)
    prune(small, kept)
    return changed(toy, model=small)


def size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("attention", ATTENTIONS, ids=str)
def test_a_pruned_model_does_what_the_whole_does_with_those_heads_silent(attention: dict[str, Any]) -> None:
    toy = translator(SMALL | {"attention": {"heads": HEADS} | attention})
    small = cut(toy, KEPT)
    with torch.no_grad():
        found = small.scores(small.pieces[None])
    torch.testing.assert_close(found, without_heads(toy, KEPT), rtol=0, atol=1e-5)
    assert size(small.model) < size(toy.model)


def test_a_layer_after_all_heads_loses_none_of_its_rows() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(heads=HEADS, each=2, output="attentional"), HEADS)
    source = torch.randn(2, 3, HEADS)
    keep(attention, [1, 2])
    assert attention(source, attention.remember(source)).shape == source.shape


@pytest.mark.parametrize("position", ["alibi", "bucketed", "relative", "rotary"])
def test_positions_of_heads_that_stay_stay_theirs(position: str) -> None:
    toy = translator(WIDE | {"position": position})
    with torch.no_grad():
        found = cut(toy, KEPT).scores(toy.pieces[None])
    torch.testing.assert_close(found, without_heads(toy, KEPT), rtol=0, atol=1e-5)


@pytest.mark.parametrize("make", [language, classifier])
def test_language_models_and_classifiers_too(make: Any) -> None:
    toy = make(settings=WIDE) if make is language else classifier(attention={"heads": HEADS})
    name = next(look.tap for look in toy.looks if look.kind == "self").removesuffix(".mechanism.weights")
    with torch.no_grad():
        found = cut(toy, {name: [2, 3]}).scores(toy.pieces[None])
    torch.testing.assert_close(found, without_heads(toy, {name: [2, 3]}), rtol=0, atol=1e-5)


@pytest.mark.parametrize("heads", [[0], [3, 1], [0, 2, 3], [0, 1, 2, 3]], ids=str)
def test_heads_that_share_keys_can_stay_in_any_number(heads: list[int]) -> None:
    toy = translator(SMALL | {"layers": 1, "attention": {"heads": HEADS, "groups": 2}})
    kept = {"decoder.blocks.0.cross": heads}
    with torch.no_grad():
        found = cut(toy, kept).scores(toy.pieces[None])
    torch.testing.assert_close(found, without_heads(toy, kept), rtol=0, atol=1e-5)


def test_a_model_is_built_pruned_from_its_settings_and_trains() -> None:
    model: Any = build("transformer", WIDE | {"kept": KEPT}, Vocabulary(PIECES, PIECES))
    assert model.decoder.blocks[0].cross.query.weight.shape == (4, 16)
    assert model.decoder.blocks[0].cross.output.weight.shape == (16, 4)
    assert model.decoder.blocks[0].attention.query.weight.shape == (16, 16)
    decoded = model(torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7]]))
    model.output.log_probabilities(decoded).sum().backward()
    assert model.decoder.blocks[0].cross.key.weight.grad is not None


def test_step_by_step_a_pruned_model_says_what_it_says_at_once() -> None:
    model: Any = moved(build("transformer", WIDE | {"kept": KEPT}, Vocabulary(PIECES, PIECES)))
    source, target = torch.tensor([[5, 6, 7, 2]]), [8, 9, 4]
    with torch.no_grad():
        whole = model.output.log_probabilities(model(source, torch.tensor([[1, *target]])))[0]
        state, first = model.start(source).state, model.start(source).first
        rows = []
        for piece in [first, *(torch.tensor([one]) for one in target)]:
            row, state = model.step(piece, state)
            rows.append(row[0])
    torch.testing.assert_close(torch.stack(rows), whole, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ({"decoder.blocks.7.cross": [0]}, "blocks.7"),
        ({"decoder.blocks.0.cross": []}, "at least one"),
        ({"decoder.blocks.0.cross": [4]}, "0 to 3"),
        ({"decoder.blocks.0.cross": [-1]}, "0 to 3"),
        ({"decoder.blocks.0.cross": [1, 1]}, "each once"),
    ],
)
def test_what_cannot_be_kept_is_told(kept: dict[str, list[int]], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        build("transformer", WIDE | {"kept": kept}, Vocabulary(PIECES, PIECES))


def translating(folder: Path, heads: int) -> Pipeline:
    """An untrained model of one layer over a phrasebook written to a folder."""
    values = recipe(folder / "data", {"name": "transformer", **SMALL, "layers": 1, "attention": {"heads": heads}})
    made = read(values | {"search": {"beams": 1, "longest_factor": 0.0, "longest_extra": 3}})
    texts = [{"source": source, "target": target} for source, target in book().train[:100]]
    task = TASKS["translation"].learn(made, texts, {})
    return Pipeline(made, task, moved(task.model()), {}, {})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    made = translating(tmp_path_factory.mktemp("pruning"), heads=2)
    return made.with_golden([{"source": "Thank you."}])


@pytest.fixture
def rows() -> list[dict[str, str]]:
    return [{"source": source, "target": target} for source, target in book().valid[:2]]


@pytest.mark.parametrize("by", ["gradient", "ablation"])
def test_a_bundle_without_its_least_heads_loads_and_gives_what_it_gave(
    model: Pipeline, rows: list[dict[str, str]], by: Any, tmp_path: Path
) -> None:
    found = pruned(model, rows, 2, by)
    found.pipeline.save(tmp_path / "small")
    again = load(tmp_path / "small", verify=True)
    texts = [row["source"] for row in rows]
    assert [one.text for one in again.predict(texts)] == [one.text for one in found.pipeline.predict(texts)]
    assert measured(again, rows).parameters < measured(model, rows).parameters
    assert len(found.removed) == 2


def test_what_goes_is_what_is_worth_least_and_each_attention_keeps_one(
    model: Pipeline, rows: list[dict[str, str]]
) -> None:
    table = importance(model, rows)
    worth = table.column("sensitivity")
    removed = least(model, table, 3)
    assert len({head.look for head in removed}) == 3
    for head in removed:
        [other] = [one for one in table.heads if one.look == head.look and one != head]
        assert worth[head] <= worth[other]


def test_a_pruned_model_can_be_pruned_again(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    wide = translating(tmp_path, heads=4)
    heads = importance(wide, rows).heads
    once = without(wide, [one for one in heads if one.number == 1])
    twice = without(once, [one for one in heads if one.number == 1])
    kept = twice.recipe.model.options["kept"]
    assert all(list(numbers) == [0, 3] for numbers in kept.values())
    at_once = without(wide, [one for one in heads if one.number in (1, 2)])
    assert [one.text for one in at_once.predict(["Thank you."])] == [one.text for one in twice.predict(["Thank you."])]


@pytest.mark.parametrize("count", [0, -1, 4, 100])
def test_too_many_heads_or_none_are_refused(model: Pipeline, rows: list[dict[str, str]], count: int) -> None:
    with pytest.raises(RequestError, match="1 to 3"):
        pruned(model, rows, count)


def test_a_model_of_single_heads_has_none_to_remove(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    with pytest.raises(RequestError, match="none to remove"):
        pruned(translating(tmp_path, heads=1), rows, 1)


def test_a_row_that_is_read_in_parts_is_left_out_and_counted(model: Pipeline, rows: list[dict[str, str]]) -> None:
    short = model.with_settings(f"predict.longest={max(len(row['source']) for row in rows)}")
    long = {"source": " ".join(row["source"] for row in rows * 9), "target": rows[0]["target"]}
    found = pruned(short, [long, *rows], 1)
    assert (found.left_out, found.removed) == (1, pruned(short, rows, 1).removed)
    assert "parts" in found.reason
    with pytest.raises(RequestError, match="parts"):
        pruned(short, [long], 1)


class Slow(Metric):
    """What takes its time when it is first asked for, as an import does."""

    name = "slow"
    asked = 0

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        time.sleep(0.0 if Slow.asked else 3.0)
        Slow.asked += 1
        return np.zeros((len(outputs), 1))

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return 0.0

    def signature(self, references: References) -> str:
        return "slow"


def test_what_a_metric_imports_is_not_taken_for_the_models_time(
    model: Pipeline, rows: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METRICS, "slow", Slow)
    assert measured(model.with_settings("metrics=['slow']"), rows).lines_a_second > len(rows) / 3


def test_a_model_that_finds_hidden_pieces_is_measured_by_those(tmp_path: Path) -> None:
    texts = [{"text": text} for text in ("the dog sees a cat", "a red cat runs", "the cat sees the dog")]
    model, tokenizer = {"name": "transformer", **SMALL}, {"kind": "words", "size": 40}
    plan = read({"task": "masked", "data": {}, "model": model, "tokenizer": tokenizer})
    task = TASKS["masked"].learn(plan, texts, {})
    torch.manual_seed(0)
    whole = Pipeline(plan, task, task.model().eval(), {}, {})
    found = pruned(whole, texts, 1)
    assert (len(found.removed), found.left_out) == (1, 0)
    assert size(found.pipeline.model) < size(whole.model)
    work = Filling(whole.model, task.reading, task.masking, task.testing(plan).predict).work("the dog sees a cat")
    hidden = subject(changed(whole, recipe=task.testing(plan)), "the dog sees a cat")
    assert [unit.text for unit in hidden.outputs.units] == [task.reading.tokenizer.piece(one) for one in work.wanted]


def test_no_rows_are_told(model: Pipeline) -> None:
    with pytest.raises(RequestError, match="at least one"):
        pruned(model, [], 1)


def test_the_table_of_heads_names_modules_that_are_there(model: Pipeline, rows: list[dict[str, str]]) -> None:
    table: HeadTable = importance(model, rows)
    for head in table.heads:
        place = head.look.tap.removesuffix(".mechanism.weights")
        assert isinstance(model.model.get_submodule(place), MultiHeadAttention)


def test_the_command_prints_both_and_writes_a_bundle(model: Pipeline, tmp_path: Path) -> None:
    model.save(tmp_path / "whole")
    asked = ("prune", tmp_path / "whole", "--heads", 2, "--out", tmp_path / "small", "--lines", 3, "--json")
    result = regard(*asked)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert len(told["removed"]) == 2
    assert told["after"]["parameters"] < told["before"]["parameters"]
    assert load(tmp_path / "small", verify=True).scores["valid"] == told["after"]["scores"]


def test_the_command_refuses_a_folder_of_something_else_before_it_works(model: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    model.save(tmp_path / "whole")
    result = regard("prune", tmp_path / "whole", "--heads", 1, "--out", tmp_path / "full")
    assert isinstance(result.exception, ConfigError)
    assert "no bundle" in str(result.exception)
