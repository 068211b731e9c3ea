"""Replies: how much of a conversation is read, by models that read and write and by models that go on."""

import json
import random
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.api import Materials, Pipeline, load, train
from regard.data import Structure
from regard.errors import ConfigError, DataError, RequestError
from regard.nn import IGNORE
from regard.starter import write_dialogues
from regard.starter.dialogues import BETWEEN
from regard.tasks import TASKS, DialogueRecipe, DialogueTask
from regard.tasks.prompted import Continued
from regard.tasks.turns import fault, turns
from tests.text.foreign_toys import framed

COLOURS = ("red", "blue", "green", "gray")
TRANSFORMER: dict[str, Any] = {
    "name": "transformer",
    "width": 32,
    "layers": 1,
    "attention": {"heads": 2},
    "feedforward": {"hidden": 32},
    "place": "pre",
}
RECURRENT: dict[str, Any] = {"name": "recurrent", "encoder": {"width": 24}, "decoder": {"width": 24}}
LANGUAGE: dict[str, Any] = {**TRANSFORMER, "name": "transformer_language", "layers": 2}
RECURRENT_LANGUAGE: dict[str, Any] = {"name": "recurrent_language", "width": 32}
MODELS = {"transformer": TRANSFORMER, "transformer_language": LANGUAGE}
EVERY = {**MODELS, "recurrent": RECURRENT, "recurrent_language": RECURRENT_LANGUAGE}


def row(draw: random.Random) -> dict[str, Any]:
    """The reply needs what was said two turns before."""
    colour = draw.choice(COLOURS)
    return {"turns": [f"I want a {colour} scarf.", "Which one?"], "reply": f"The {colour} one!"}


def recipe(folder: Path, model: dict[str, Any], **other: Any) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    draw = random.Random(3)
    for part, count in (("train", 60), ("valid", 8)):
        rows = "".join(f"{json.dumps(row(draw))}\n" for _ in range(count))
        (folder / f"{part}.jsonl").write_text(rows, "utf-8")

    def corpus(part: str) -> dict[str, Any]:
        return {"path": f"{part}.jsonl", "columns": {"turns": "turns", "reply": "reply"}}

    return {
        "task": "dialogue",
        "data": {"root": str(folder), "train": corpus("train"), "valid": corpus("valid")},
        "tokenizer": {"size": 60},
        "model": model,
        "batches": {"tokens": 500},
        "loss": {"smoothing": 0.0},
        "optimizer": {"rate": 1e-2, "schedule": {"name": "linear", "warm_up": 5}},
        "train": {"updates": 120, "every": 120, "log": 40},
        "search": {"beams": 2, "longest_factor": 0, "longest_extra": 16},
        **other,
    }


@pytest.fixture(scope="module", params=list(MODELS))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp(request.param)
    train(recipe(folder / "data", MODELS[request.param]), folder / "run")
    return load(folder / "run")


def asked(colour: str) -> dict[str, str]:
    return {"turns": json.dumps([f"I want a {colour} scarf.", "Which one?"])}


def test_a_reply_knows_what_was_said_before(model: Pipeline) -> None:
    found = model.predict(map(asked, COLOURS))
    assert [one.text for one in found] == [f"The {colour} one!" for colour in COLOURS]
    assert all(one.status == ("complete",) for one in found)


def test_with_history_a_reply_is_less_surprising_than_without(model: Pipeline, tmp_path: Path) -> None:
    without = train(recipe(tmp_path / "data", MODELS[model.recipe.model.name], history=1), tmp_path / "run")
    assert without.task.files() == model.task.files()
    values = [one.evaluate(Materials(one.recipe).valid).scores["perplexity"].value for one in (model, without)]
    assert values[0] < 1.1 < values[1]


def test_evaluation_has_perplexities_and_distinct_and_a_bundle_gives_the_same(model: Pipeline, tmp_path: Path) -> None:
    found = model.evaluate(Materials(model.recipe).valid)
    assert set(found.scores) == {"perplexity", "word_perplexity", "distinct_1", "distinct_2"}
    nll, words = sum(one.nll for one in found.told), sum(one.words for one in found.told)
    assert found.scores["word_perplexity"].value == pytest.approx(exp(nll / words))
    model.save(tmp_path / "bundle")
    again = load(tmp_path / "bundle").evaluate(Materials(model.recipe).valid)
    assert [one.plain() for one in again.results] == [one.plain() for one in found.results]


def test_turns_may_be_a_list_or_stand_between_tabs(model: Pipeline) -> None:
    listed, tabbed, line = model.predict(
        [asked("blue"), {"turns": "I want a blue scarf.\tWhich one?"}, "I want a blue scarf.\tWhich one?"]
    )
    assert listed.text == tabbed.text == line.text == "The blue one!"


@pytest.mark.parametrize("history", [0, 1])
def test_a_table_of_turns_is_read_as_a_list_of_them_is(history: int, tmp_path: Path) -> None:
    write_dialogues(tmp_path, 12, 4, 0)
    asked = recipe(tmp_path / "unused", TRANSFORMER, history=history, between=BETWEEN)
    columns = {"turns": "turns", "reply": "reply"}
    read = {}
    for kind in ("tsv", "jsonl"):
        asked["data"] = {"root": str(tmp_path), "train": {"path": f"train.{kind}", "columns": columns}}
        rows = [row.fields for row in Materials(DialogueRecipe.read(asked)).train[0]]
        task = DialogueTask.learn(DialogueRecipe.read(asked), rows, {})
        found = task.encoding({}).encode({name: [row[name] for row in rows] for name in task.fields})
        read[kind] = (task.files(), found)
    assert read["tsv"] == read["jsonl"]


def test_what_stands_between_turns_is_known_in_all_the_model_is_given(tmp_path: Path) -> None:
    quick = {"updates": 2, "every": 2}
    train(recipe(tmp_path / "data", TRANSFORMER, history=1, between=" | ", train=quick), tmp_path / "run")
    model = load(tmp_path / "run")
    last, text, tabbed = (model.task.lines(model.recipe)(one) for one in ('["b"]', "a | b", "a\tb"))
    assert (last, text, tabbed) == (["b"], ["b"], ["a\tb"])
    rows = [{"turns": one, "reply": "The red one!"} for one in ('["x", "Which one?"]', "x | Which one?")]
    listed, joined = model.task.likelihood(model.model, rows, model.recipe)
    assert listed == joined
    assert len({one.score for one in model.predict([row["turns"] for row in rows])}) == 1


def test_nothing_cannot_stand_between_turns() -> None:
    with pytest.raises(ConfigError, match="between"):
        DialogueRecipe.read({"task": "dialogue", "data": {}, "model": "transformer", "between": ""})


TEXTS = [
    "",
    "[]",
    '["", " "]',
    "\t\t",
    "[1, 2]",
    '["a"',
    "[" * 3000,
    "\x00\udcff 🍩",
    "<end>\t<begin>",
    "你好",
    "hm " * 400,
]


def test_alone_is_as_in_company(model: Pipeline) -> None:
    texts = [*TEXTS, *(asked(colour)["turns"] for colour in COLOURS)]
    together, apart = model.predict(texts), [model.predict([text])[0] for text in texts]
    for one, other in zip(together, apart, strict=True):
        assert (one.text, one.status) == (other.text, other.status)
        assert one.score == pytest.approx(other.score, abs=1e-4)
    assert [one.status for one in together[:4]] == [("empty",)] * 4
    assert "tail" in together[len(TEXTS) - 1].status


@settings(max_examples=10)
@given(st.lists(st.text(max_size=40), max_size=3))
def test_whatever_comes_in_something_comes_out(model: Pipeline, texts: list[str]) -> None:
    found = model.with_settings("search.method=greedy", "search.longest_extra=3").predict(texts)
    assert len(found) == len(texts)
    assert all(one.status for one in found)


def test_what_is_settled_stays_and_ends_as_predicted(model: Pipeline) -> None:
    *grown, result = model.settle(asked("green"))
    assert result.text == model.predict([asked("green")])[0].text
    assert grown
    assert all(later.startswith(earlier) for earlier, later in zip(grown, [*grown[1:], result.text], strict=True))


def test_of_a_long_conversation_the_last_turns_are_read(model: Pipeline) -> None:
    long = json.dumps(["The red one!"] * 30 + ["I want a blue scarf.", "Which one?"])
    read = model.task.reader.read(["I want a blue scarf.", "Which one?"])
    room = len(model.task.frame(read.pieces))
    [tail] = model.with_settings(f"predict.longest={room}").predict([long])
    assert (tail.text, tail.status) == ("The blue one!", ("tail", "complete"))
    [refused] = model.with_settings(f"predict.longest={room}", "predict.long=refuse").predict([long])
    assert (refused.text, refused.status) == ("", ("refused",))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("history", [0, 1])
def test_the_loss_is_of_replies_alone_and_reads_as_many_turns_as_asked(name: str, history: int, tmp_path: Path) -> None:
    asked = DialogueRecipe.read(recipe(tmp_path, EVERY[name], history=history))
    rows = [{**one, "turns": json.dumps(one["turns"])} for one in map(row, map(random.Random, range(5)))]
    task = DialogueTask.learn(asked, rows, {})
    columns = task.encoding({}).encode({key: [one[key] for one in rows] for key in rows[0]})
    examples = [{key: np.array(columns[key][number]) for key in columns} for number in range(5)]
    text = task.reader.text([piece for piece in columns["turns"][0] if piece not in task.sides.source.special])
    assert text.endswith("Which one?")
    assert ("scarf" in text) == (history == 0)
    torch.manual_seed(0)
    model = task.model().eval()
    with torch.no_grad():
        whole = task.loss(model, task.batch(examples, torch.device("cpu")), 0.1)
        alone = [task.loss(model, task.batch([one], torch.device("cpu")), 0.1) for one in examples]
    assert int(whole.count) == sum(len(one["reply"]) for one in examples)
    assert float(sum(one.total for one in alone)) == pytest.approx(float(whole.total), rel=1e-5)
    told = list(task.likelihood(model, rows, asked))
    assert sum(one.nll for one in told) == pytest.approx(float(whole.nll), rel=1e-5)
    several = [{**row, "reply": f"{row['reply']} || Or that."} for row in rows]
    split = asked.model_copy(update={"data": asked.data.model_copy(update={"references": " || "})})
    assert list(task.likelihood(model, several, split)) == told


def test_a_prompt_is_followed_by_its_reply_and_nothing_within_it_counts(tmp_path: Path) -> None:
    task = DialogueTask.learn(DialogueRecipe.read(recipe(tmp_path, LANGUAGE)), [{"turns": "hi", "reply": "ho"}] * 3, {})
    batch = task.batch([{"turns": np.array([1, 7, 2]), "reply": np.array([8, 9, 2])}], torch.device("cpu"))
    assert isinstance(batch, Continued)
    assert batch.pieces.tolist() == [[1, 7, 2, 8, 9]]
    assert batch.wanted.tolist() == [[IGNORE, IGNORE, 8, 9, 2]]


def test_a_turn_that_is_no_text_is_named_by_file_and_line(tmp_path: Path) -> None:
    asked = DialogueRecipe.read(recipe(tmp_path, TRANSFORMER))
    (tmp_path / "valid.jsonl").write_text('{"turns": ["a", 3], "reply": "b"}\n', "utf-8")
    with pytest.raises(DataError, match=r"valid.jsonl line 1: turns holds 3, which is no text"):
        list(Materials(asked).valid)


@pytest.mark.parametrize("given", ['["a", 3]', '[{"speaker": "A", "text": "Hi"}]', '{"a": 1}'])
def test_turns_of_json_that_are_no_texts_are_a_fault_and_get_no_reply(given: str, tmp_path: Path) -> None:
    asked = DialogueRecipe.read(recipe(tmp_path, TRANSFORMER))
    (tmp_path / "valid.jsonl").write_text(f'{{"turns": {given}, "reply": "b"}}\n', "utf-8")
    with pytest.raises(DataError, match=r"valid.jsonl line 1: turns .*; give a JSON list of texts"):
        list(Materials(asked).valid)
    task = DialogueTask.learn(asked, [{"turns": "hi", "reply": "ho"}] * 3, {})
    untrained = Pipeline(asked, task, task.model().eval(), {}, {})
    with pytest.raises(RequestError, match=r"turns .*; give a JSON list of texts"):
        untrained.predict([{"turns": Structure(given)}])
    # What is typed is text, whatever it looks like.
    assert len(untrained.predict([given])) == 1


def test_windows_make_no_reply() -> None:
    with pytest.raises(ConfigError, match=r"predict\.long"):
        DialogueRecipe.read({"task": "dialogue", "data": {}, "model": "transformer", "predict": {"long": "window"}})


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=10), min_size=1, max_size=4))
def test_a_json_list_of_texts_is_its_turns(said: list[str]) -> None:
    assert turns(json.dumps(said)) == said
    assert not fault(json.dumps(said))


def test_the_task_is_known_by_its_name() -> None:
    assert TASKS["dialogue"] is DialogueTask


@pytest.mark.parametrize(
    ("model", "expected"),
    [(TRANSFORMER, ((1, 5, 2), (1, 5, 2))), (LANGUAGE, ((2, 5, 2), (5, 2)))],
    ids=["transformer", "transformer_language"],
)
def test_a_foreign_tokenizer_frames_what_is_read_and_written(model: dict[str, Any], expected: Any) -> None:
    settings = DialogueRecipe.model_validate({"task": "dialogue", "data": {}, "model": model})
    task = DialogueTask.load(settings, {"tokenizer.json": framed().to_json()})
    columns = task.encoding({}).encode({"turns": ["the"], "reply": ["the"]})
    assert (columns["turns"], columns["reply"]) == ([expected[0]], [expected[1]])
