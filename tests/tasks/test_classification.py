"""Classification: labels, losses, long texts, ties, weights over words, and one run from rows to a bundle."""

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, kl_divergence

from regard.api import Materials, Pipeline, Training, load, read, train
from regard.api.preflight import preflight
from regard.api.starts import vectors
from regard.attention import record
from regard.errors import ConfigError, DataError, RequestError
from regard.metrics import score
from regard.tasks import VectorsSettings
from regard.tasks.classification import ClassificationRecipe, ClassificationTask, SharpSettings, Texts
from regard.tasks.classifying import CLOSE, Classified, Classifying, Seen
from regard.tasks.labelling import Labels
from tests.tasks.places import placed

GOOD = ("lovely", "warm", "funny", "moving")
BAD = ("dull", "cold", "loud", "empty")
PLAIN = ("the", "film", "was", "story", "and", "a", "night", "out")
ENCODERS: dict[str, dict[str, Any]] = {
    "wide": {"name": "wide", "width": 12, "kernels": [2, 3], "embedding": {"width": 8}},
    "recurrent": {"name": "recurrent", "width": 8},
    "convolutional": {"name": "convolutional", "width": 8, "layers": 1},
    "transformer": {"name": "transformer", "width": 8, "layers": 1, "attention": {"heads": 2}},
}


def rows(count: int, several: bool = False) -> list[dict[str, str]]:
    """Texts whose label is told by a word or two among others."""
    draw = random.Random(count)
    made = []
    for _ in range(count):
        labels = (
            [name for name in ("bad", "good") if draw.random() < 0.5] if several else [draw.choice(["bad", "good"])]
        )
        words = [draw.choice(GOOD if name == "good" else BAD) for name in labels]
        words += draw.choices(PLAIN, k=draw.randint(2, 9))
        draw.shuffle(words)
        made.append({"text": " ".join(words), "label": "|".join(labels)})
    return made


def recipe(**changes: Any) -> ClassificationRecipe:
    values: dict[str, Any] = {
        "task": "classification",
        "data": {"train": {"path": "train.jsonl", "columns": {"text": "text", "label": "label"}}},
        "model": ENCODERS["wide"],
        "tokenizer": {"kind": "words", "size": 100},
    }
    return ClassificationRecipe.read(values | changes)


def learned(rows: list[dict[str, str]], **changes: Any) -> ClassificationTask:
    return ClassificationTask.learn(recipe(**changes), rows, {})


def classify(task: ClassificationTask, texts: list[str], model: Any = None, **predict: Any) -> list[Classified]:
    chosen = task.recipe.model_copy(update={"predict": task.recipe.predict.model_copy(update=predict)})
    torch.manual_seed(0)
    model = model or task.model().eval()
    return list(task.predict(model, ({"text": text} for text in texts), chosen))


def stored(task: ClassificationTask, rows: list[dict[str, str]]) -> list[dict[str, np.ndarray]]:
    """Rows as the examples of a store."""
    columns = task.encoding({}).encode({name: [row[name] for row in rows] for name in task.fields})
    return [{name: np.array(column[place], np.int64) for name, column in columns.items()} for place in range(len(rows))]


def batch(task: ClassificationTask, rows: list[dict[str, str]]) -> Texts:
    return task.batch(stored(task, rows), torch.device("cpu"))


def alike(one: Classified, other: Classified) -> bool:
    near = all(abs(p - other.probabilities[name]) < 1e-4 for name, p in one.probabilities.items())
    return (one.text, one.status) == (other.text, other.status) and near


# Labels.


def test_labels_are_sorted_counted_and_come_back_from_their_file() -> None:
    found = Labels.learn([" b", "a", "b "], several=False)
    assert (found.names, found.counts) == (("a", "b"), (1, 2))
    assert Labels.load(found.files(), several=False) == found


@pytest.mark.parametrize(
    "file", [{}, {"labels.json": "{"}, {"labels.json": '{"labels": ["a"], "counts": []}'}, {"labels.json": "[]"}]
)
def test_a_missing_or_damaged_file_of_labels_is_named(file: Mapping[str, str]) -> None:
    with pytest.raises(DataError, match=r"labels\.json"):
        Labels.load(file, several=False)


def test_several_labels_are_those_training_has_and_none_is_possible() -> None:
    found = Labels.learn(["a|b", "c", ""], several=True)
    assert found.encode("c | a|strange") == [0, 2]
    assert found.encode("") == []


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40))
def test_balanced_weights_let_each_class_weigh_the_same_and_a_row_on_average_one(labels: list[str]) -> None:
    found = Labels.learn(labels, several=False)
    weighed = [weight * count for weight, count in zip(found.weights, found.counts, strict=True)]
    assert np.allclose(weighed, len(labels) / len(found.names))
    assert np.isclose(sum(weighed), len(labels))


def test_odd_labels_are_remarked_upon_before_training() -> None:
    given_rows = [{"text": "x", "label": "a"}] * 40 + [{"text": "x", "label": "b"}]
    told = " ".join(learned(given_rows).remarks(placed(given_rows), []))
    assert "'b' (rows line 41): one example in training" in told
    assert "always saying 'a' is right 98%" in told


@pytest.mark.parametrize(
    ("several", "field", "strange"),
    [(False, "new", ["new"]), (False, " a ", []), (True, "new|a|old|new", ["new", "old"]), (True, "", [])],
)
def test_labels_that_training_never_had_are_known(several: bool, field: str, strange: list[str]) -> None:
    assert Labels.learn(["a", "b"], several).strange(field) == strange


def test_labels_training_never_had_are_named_by_line_wherever_rows_are_judged(tmp_path: Path) -> None:
    parts = {"train": [*rows(40), {"text": "a", "label": "once"}], "valid": rows(4), "test": rows(4)}
    parts["valid"][2]["label"] = "new"
    parts["test"][0]["label"] = parts["test"][3]["label"] = "other"
    for name, made in parts.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made), "utf-8")
    corpora = {name: {"path": f"{name}.jsonl", "columns": {"text": "text", "label": "label"}} for name in parts}
    data = {"root": str(tmp_path), "train": corpora["train"], "valid": corpora["valid"]}
    plan = recipe(data={**data, "test": {"t": corpora["test"]}}, train={"updates": 2, "every": 2})
    once = f"Label 'once' ({tmp_path}/train.jsonl line 41): one example in training"
    said = "lines have a label that training never had, and can only be wrong there"
    new = f"1 of 4 {said}: 'new' ({tmp_path}/valid.jsonl line 3)."
    other = f"2 of 4 {said}: 'other' ({tmp_path}/test.jsonl line 1, {tmp_path}/test.jsonl line 4)"

    warned = [finding.text for finding in preflight(plan).findings if finding.name == "data"]
    assert f"valid: {new}" in warned
    assert f"test t: {other}." in warned
    assert any(told.startswith(once) for told in warned)

    heard: list[str] = []
    run = Training(plan, tmp_path / "run", tell=heard.append)
    list(run.steps())
    assert f"{tmp_path}/valid.jsonl: {new}" in heard
    assert any(told.startswith(once) for told in heard)
    assert not any("other" in told for told in heard)

    found = run.finish().evaluate(run.materials.test("t"))
    assert str(found.unseen) == other
    assert found.unseen.plain()["other"]["count"] == 2


def test_plain_data_give_no_remark_and_one_label_only_does() -> None:
    assert learned(rows(40)).remarks(placed(rows(40)), placed(rows(10))) == []
    alone = [{"text": "x", "label": "a"}] * 3
    assert "nothing to tell apart" in learned(alone).remarks(placed(alone), placed(alone))[0]


def test_a_list_in_json_is_several_labels_and_no_single_one() -> None:
    found = Labels.learn(['["a","b"]', '["c"]', "[]", "a|c"], several=True)
    assert (found.names, found.counts) == (("a", "b", "c"), (2, 1, 2))
    assert found.encode('["c","a"]') == [0, 2]
    row = {"text": "x", "label": '["a"]'}
    assert "set labels.several" in ClassificationTask.fault(row, recipe())
    assert not ClassificationTask.fault(row, recipe(labels={"several": True}))


def test_labels_in_a_json_list_may_be_whole_numbers_and_truths() -> None:
    found = Labels.learn(["[0,1]", "[12, true]", '[1,"x"]'], several=True)
    assert (found.names, found.counts) == (("0", "1", "12", "true", "x"), (1, 2, 1, 1, 1))
    assert found.encode("[1,0]") == [0, 1]
    assert score(["1|0"], ["[0,1]"], "accuracy").value == 100


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("label", [[0, 1], ["a"], ["a", None], [0.5, 1.0], [["a"]], [{"a": 1}], {"a": 1}, {}])
def test_a_label_of_json_is_a_list_of_names_or_numbers_where_there_may_be_several(
    label: Any, several: bool, tmp_path: Path
) -> None:
    corpus = {"path": "rows.jsonl", "columns": {"text": "text", "label": "label"}}
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "a film", "label": label}) + "\n")
    asked = recipe(data={"root": str(tmp_path), "train": corpus, "valid": corpus}, labels={"several": several})
    if several and label in ([0, 1], ["a"]):
        assert len(list(Materials(asked).valid)) == 1
        return
    with pytest.raises(DataError, match=r"rows\.jsonl line 1: the label is .*(whole number|set labels\.)"):
        list(Materials(asked).valid)


@pytest.mark.parametrize(
    ("label", "several", "told"),
    [
        ("drama|war", False, "set labels.several = true"),
        ("drama|war", True, ""),
        ('["drama|war", "new"]', True, "write it otherwise"),
        ('["drama", "war"]', True, ""),
    ],
)
def test_what_stands_between_labels_cannot_stand_in_one(label: str, several: bool, told: str) -> None:
    found = ClassificationTask.fault({"text": "a film", "label": label}, recipe(labels={"several": several}))
    assert bool(found) == bool(told)
    assert told in found


def test_an_empty_label_is_a_fault_unless_a_text_may_have_several() -> None:
    row = {"text": "x", "label": " "}
    assert ClassificationTask.fault(row, recipe())
    assert not ClassificationTask.fault(row, recipe(labels={"several": True}))


# Batches and losses.


def test_a_label_unseen_in_training_counts_for_nothing_in_the_loss() -> None:
    task = learned(rows(20))
    model = task.model().eval()
    known = rows(6)
    strange = [*known, {"text": "a film", "label": "new"}]
    one, other = (task.loss(model, batch(task, some), 0.1) for some in (known, strange))
    assert int(other.count) == 6
    assert torch.allclose(one.total, other.total, atol=1e-5)


@pytest.mark.parametrize("changes", [{}, {"head": {"weights": "balanced"}}, {"labels": {"several": True}}])
def test_the_losses_of_parts_add_up_to_the_loss_of_the_whole(changes: dict[str, Any]) -> None:
    given_rows = rows(30, several="labels" in changes)
    task = learned(given_rows, **changes)
    model = task.model().eval()
    whole = task.loss(model, batch(task, given_rows), 0.1)
    parts = task.loss(model, batch(task, given_rows[:7]), 0.1) + task.loss(model, batch(task, given_rows[7:]), 0.1)
    assert int(whole.count) == int(parts.count) == 30
    assert torch.allclose(whole.total, parts.total, atol=1e-4)
    assert torch.allclose(whole.nll, parts.nll, atol=1e-4)


def test_balanced_loss_is_torch_s_own_with_weights() -> None:
    given_rows = [{"text": "warm", "label": "good"}] * 9 + [{"text": "cold", "label": "bad"}] * 3
    task = learned(given_rows, head={"weights": "balanced"})
    model: Any = task.model().eval()
    made = batch(task, given_rows)
    expected = torch.nn.functional.cross_entropy(
        model(made.pieces, made.real), made.wanted, torch.tensor(task.labels.weights), reduction="sum"
    )
    assert torch.allclose(task.loss(model, made, 0.0).total, expected)


def agreeing(task: ClassificationTask, agreement: float) -> ClassificationTask:
    return replace(task, recipe=task.recipe.model_copy(update={"loss": SharpSettings(agreement=agreement)}))


@pytest.mark.parametrize("changes", [{}, {"head": {"weights": "balanced"}}, {"labels": {"several": True}}])
def test_two_readings_are_to_agree_as_torch_says_how_far_they_differ(changes: dict[str, Any]) -> None:
    several = "labels" in changes
    made = rows(9, several)
    task = learned(made, model={**ENCODERS["wide"], "embedding": {"width": 8, "dropout": 0.5}}, **changes)
    given, model = batch(task, made), task.model()
    torch.manual_seed(2)
    found = agreeing(task, 3.0).loss(model.train(), given, 0.1)
    torch.manual_seed(2)
    first, second = model(given.pieces.repeat(2, 1), given.real.repeat(2, 1)).chunk(2)
    kinds = [Bernoulli(logits=one) if several else Categorical(logits=one) for one in (first, second)]
    apart = kl_divergence(kinds[0], kinds[1]).sum() + kl_divergence(kinds[1], kinds[0]).sum()
    assert apart > 0.01
    losses = [task._loss(model, one, given.wanted, 0.1) for one in (first, second)]
    torch.testing.assert_close(found.total, (losses[0].total + losses[1].total) / 2 + 3 / 4 * apart)
    torch.testing.assert_close(found.nll, (losses[0].nll + losses[1].nll) / 2)
    assert found.count == len(made)


def test_two_readings_are_for_training_only_and_one_where_nothing_is_dropped() -> None:
    made = rows(9)
    sure = {**ENCODERS["wide"], "dropout": 0.0, "embedding": {"width": 8, "dropout": 0.0}}
    task = learned(made, model=sure, head={"dropout": 0.0})
    given, model = batch(task, made), task.model()
    for learning in (False, True):
        model.train(learning)
        found, alone = agreeing(task, 5.0).loss(model, given, 0.1), task.loss(model, given, 0.1)
        torch.testing.assert_close((found.total, found.nll), (alone.total, alone.nll))
        assert found.count == alone.count


def test_balancing_several_labels_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"head\.weights"):
        ClassificationTask.check(recipe(labels={"several": True}, head={"weights": "balanced"}))


@pytest.mark.parametrize(("long", "kept"), [("tail", ["c", "d"]), ("head", ["a", "b"]), ("window", ["a", "b"])])
def test_long_training_texts_keep_what_the_policy_says_and_are_counted(long: str, kept: list[str]) -> None:
    given_rows = [{"text": "a b c d", "label": "x"}, {"text": "a", "label": "y"}]
    task = learned(given_rows, predict={"long": long}, batches={"longest": 3})
    ids = stored(task, given_rows)[0]["text"].tolist()
    assert [task.reading.tokenizer.piece(number) for number in ids[:-1]] == kept
    part = "tail" if long == "tail" else "head"
    assert f"1 of 2 training texts have more than 2 pieces; their {part} is learned from." in task.remarks(
        placed(given_rows), []
    )


def test_an_encoder_is_given_no_more_than_its_positions_reach() -> None:
    model = ENCODERS["transformer"] | {"position": {"name": "learned", "length": 6}}
    task = learned(rows(20), model=model)
    long = " ".join(["film"] * 50)
    assert len(stored(task, [{"text": long, "label": "good"}])[0]["text"]) == 6
    assert classify(task, [long])[0].status == ("windows",)


# Prediction.


@pytest.mark.parametrize("name", ENCODERS)
def test_a_text_gets_the_same_alone_and_in_company(name: str) -> None:
    task = learned(rows(40), model=ENCODERS[name])
    texts = [row["text"] for row in rows(12)] + ["", "warm " * 30]
    together = classify(task, texts, longest=9, rows=5)
    assert all(alike(one, classify(task, [text], longest=9)[0]) for one, text in zip(together, texts, strict=True))
    assert [one.status for one in together[-2:]] == [("empty",), ("windows",)]


@settings(max_examples=15)
@given(st.lists(st.text(max_size=40), max_size=6), st.sampled_from(["window", "head", "tail", "refuse"]))
def test_any_text_gives_one_result_in_order(texts: list[str], long: str) -> None:
    task = learned(rows(40), tokenizer={"kind": "byte_bpe", "size": 300})
    found = classify(task, [*texts, "\0", "x" * 10_000], long=long, longest=40)
    assert len(found) == len(texts) + 2
    for text, one in zip(texts, found, strict=False):
        assert bool(one.text) == bool(one.probabilities)
        assert one.status == ("empty",) if not text.strip() else one.text or one.status == ("refused",)
        if one.text:
            assert abs(sum(one.probabilities.values()) - 1) < 1e-6
            assert one.score == one.probabilities[one.text] == max(one.probabilities.values())


def test_windows_are_averaged_by_their_pieces_and_head_and_tail_are_those_parts_alone() -> None:
    task = learned(rows(40))
    words = [row["text"] for row in rows(9)]
    pieces = " ".join(words).split()[:10]
    first, middle, last = (" ".join(pieces[start:end]) for start, end in ((0, 4), (4, 8), (6, 10)))
    alone = [one.probabilities["good"] for one in classify(task, [first, middle, last])]
    whole = " ".join(pieces)
    windows = classify(task, [whole], long="window", longest=5, overlap=0)[0]
    assert windows.probabilities["good"] == pytest.approx(sum(alone) / 3, abs=1e-6)
    assert windows.status == ("windows",)
    for long, expected in (("head", alone[0]), ("tail", alone[2])):
        found = classify(task, [whole], long=long, longest=5)[0]
        assert found.status == (long,)
        assert found.probabilities["good"] == pytest.approx(expected, abs=1e-6)
    refused = classify(task, [whole, "warm"], long="refuse", longest=5)
    assert (refused[0].text, refused[0].status, refused[0].probabilities) == ("", ("refused",), {})
    assert refused[1].status == ("complete",)


class Rounding(torch.nn.Module):
    """A classifier of even texts that rounds otherwise in every batch: by its rows, up or down."""

    def __init__(self) -> None:
        super().__init__()
        self.parameter = torch.nn.Parameter(torch.zeros(1))

    def forward(self, pieces: Tensor, real: Tensor) -> Tensor:
        nudge = 1e-7 if len(pieces) % 2 else -1e-5
        return torch.tensor([[0.5 - nudge, 0.5 + nudge]], dtype=torch.float64).expand(len(pieces), 2)

    def probabilities(self, logits: Tensor) -> Tensor:
        return logits


def test_near_ties_go_to_the_label_that_comes_first_whatever_the_batch() -> None:
    task = learned(rows(20))
    for count in (1, 2, 3):
        found = classify(task, ["a film"] * count, Rounding())
        assert [one.text for one in found] == ["bad"] * count
    several = learned(rows(20, several=True), labels={"several": True})
    for count in (1, 2, 3):
        assert [one.text for one in classify(several, ["a"] * count, Rounding())] == ["bad|good"] * count


def test_several_labels_are_all_none_or_some_by_the_threshold() -> None:
    task = learned(rows(60, several=True), labels={"several": True})
    one = classify(task, ["warm and dull"])[0]
    low, high = sorted(one.probabilities.values())
    texts = [
        classify(task, ["warm and dull"], threshold=at)[0].text for at in (low / 2, (low + high) / 2, (1 + high) / 2)
    ]
    likelier = max(one.probabilities, key=lambda name: one.probabilities[name])
    assert texts == ["bad|good", likelier, ""]
    none = classify(task, ["warm and dull"], threshold=(1 + high) / 2)[0]
    assert none.score == pytest.approx((1 - low) * (1 - high))


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5))
def test_what_is_chosen_never_hangs_on_less_than_what_is_read_again(found: list[float]) -> None:
    task = learned(rows(20))
    work = Classifying(task.reading, Labels(tuple("abcde"[: len(found)]), (1,) * len(found)), None, recipe().predict, 9)
    values = np.array(found)
    if not work.close(values):
        nudged = values + CLOSE / 3 * np.where(np.arange(len(values)) % 2, 1, -1)
        assert work.chosen(values) == work.chosen(nudged)


def test_weights_over_words_cover_the_text_and_looking_changes_nothing() -> None:
    task = learned(rows(40), tokenizer={"kind": "bpe", "size": 60})
    texts = ["the warm  film", "dull", "", "a " * 40]
    plain, looked = classify(task, texts, longest=20), classify(task, texts, longest=20, weights=True)
    assert [one.probabilities for one in plain] == [one.probabilities for one in looked]
    assert all(one.weights is None for one in plain)
    assert [one.weights is not None and len(one.weights) for one in looked] == [3, 1, 0, 40]
    assert looked[0].weights is not None
    assert [texts[0][slice(*word.span)] for word in looked[0].weights] == ["the", "warm", "film"]
    for one in (looked[0], looked[1], looked[3]):
        assert one.weights is not None
        assert 0 < sum(word.weight for word in one.weights) < 1
    json.dumps(looked[0].plain())


def test_the_weight_of_a_word_is_that_of_its_pieces_at_the_tap() -> None:
    task = learned(rows(40), tokenizer={"kind": "bpe", "size": 60})
    torch.manual_seed(0)
    model: Any = task.model().eval()
    ids = task.reading.tokenizer.encode("warm film").ids
    with record(model, "head.*.weights") as seen:
        model(torch.tensor([task.reading.wrapped(ids)]))
    found = classify(task, ["warm film"], model, weights=True)[0].weights
    assert found is not None
    assert sum(word.weight for word in found) == pytest.approx(float(seen[0].tensor.flatten()[:-1].sum()), abs=1e-6)


def test_weights_are_refused_where_there_is_no_attention() -> None:
    task = learned(rows(20), head={"pooling": {"how": "maximum"}})
    with pytest.raises(ConfigError, match=r"predict\.weights"):
        classify(task, ["a film"], weights=True)


def test_vectors_are_what_texts_are_classified_by() -> None:
    task = learned(rows(40))
    torch.manual_seed(0)
    model: Any = task.model().eval()
    made = list(task.embed(model, [{"text": "a warm film"}, {"text": ""}], task.recipe))
    logits = model.head.classify(made[0])
    assert float(logits.softmax(-1)[1].detach()) == pytest.approx(
        classify(task, ["a warm film"], model)[0].probabilities["good"], abs=1e-6
    )
    assert made[1].tolist() == [0.0] * model.encoder.width
    refusing = recipe(predict={"long": "refuse", "longest": 3})
    with pytest.raises(RequestError, match="5 pieces"):
        list(task.embed(model, [{"text": "a b c d e"}], refusing))


def test_a_model_still_in_training_answers_as_it_will_afterwards() -> None:
    task = learned(rows(40), model=ENCODERS["transformer"])
    model, given = task.model(), [{"text": "a warm film"}, {"text": "a cold film"}]
    expected = classify(task, ["a warm film"], model.eval())
    vectors = list(task.embed(model, given, task.recipe))
    assert classify(task, ["a warm film"], model.train()) == expected
    again = list(task.embed(model.train(), given, task.recipe))
    assert all(torch.equal(one, other) for one, other in zip(vectors, again, strict=True))


def test_windows_are_shared_out_by_their_pieces() -> None:
    task = learned(rows(20))
    work = task.classifying(torch.nn.Linear(1, 1), recipe(predict={"longest": 5, "overlap": 1}))
    found = work.work("a b c d e f", task.reading.tokenizer.encode("a b c d e f"))
    assert found.windows == [(0, 4), (2, 6)]
    seen = [Seen(np.array([1.0, 0.0]), None), Seen(np.array([0.0, 1.0]), None)]
    assert work.classified(found, seen[:1] * 2).text == "bad"
    assert found.shares.tolist() == [0.5, 0.5]


def test_words_of_the_vectors_are_known_beyond_training(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("sublime 1 2 3 4 5 6 7 8\nand 1 1 1 1 1 1 1 1\ndrab 8 7 6 5 4 3 2 1\n", "utf-8")
    values = {"vectors": {"path": "v.txt"}, "data": {"root": str(tmp_path)}, "tokenizer": {"kind": "words", "least": 2}}
    without, two = (ClassificationTask.learn(recipe(**values, lexicon=size), rows(40), {}) for size in (0, 2))
    pieces = two.reading.tokenizer.pieces
    assert set(pieces) - set(without.reading.tokenizer.pieces) == {"sublime"}
    model = two.model()
    vectors(two, model, VectorsSettings(path="v.txt"), str(tmp_path))
    assert model.encoder.embedding.vectors[pieces.index("sublime")].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_sample_of_the_texts_is_none_of_the_lexicon(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(40)]
    (tmp_path / "v.txt").write_text("".join(f"{word} 1 2\n" for word in words), "utf-8")
    tokenizer = {"kind": "words", "size": 500, "least": 2, "sample": 5}
    values = {"vectors": {"path": "v.txt"}, "data": {"root": str(tmp_path)}, "tokenizer": tokenizer, "lexicon": 40}
    assert set(words) <= set(learned(rows(40), **values).reading.tokenizer.pieces)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"lexicon": 5}, "give vectors.path"),
        ({"lexicon": 5, "vectors": {"path": "v.txt"}, "tokenizer": {"kind": "bpe"}}, "'bpe' reads pieces of them"),
    ],
)
def test_a_lexicon_that_cannot_be_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        recipe(**change)


def test_word_vectors_go_into_the_embeddings(tmp_path: Path) -> None:
    task = learned(rows(40))
    (tmp_path / "vectors.txt").write_text("warm " + " ".join(["0.5"] * 8) + "\n")
    model: Any = task.model()
    told = vectors(task, model, VectorsSettings(path="vectors.txt"), str(tmp_path))
    assert "1 of" in told
    place = task.reading.tokenizer.encode("warm").ids[0]
    assert model.encoder.embedding.vectors[place].tolist() == [0.5] * 8


def pipeline(given: list[dict[str, str]], **changes: Any) -> Pipeline:
    """A model that has learned nothing yet."""
    task = learned(given, model=ENCODERS["transformer"], **changes)
    torch.manual_seed(0)
    return Pipeline(task.recipe, task, task.model().eval(), {}, {})


@pytest.mark.parametrize("method", ["occlusion", "input_gradient"])
def test_each_of_several_labels_is_explained(method: str) -> None:
    model = pipeline(rows(20, several=True), labels={"several": True}, predict={"threshold": 0.01})
    assert model.predict(["a warm film"])[0].text == "bad|good"
    for target, names in ((None, ["bad", "good"]), ("good", ["good"]), ("good | bad", ["good", "bad"])):
        found = model.explain("a warm film", method, target=target)
        assert [unit.text for unit in found.outputs.units] == names
        assert found.weights.shape == (len(names), 4)
    nothing = model.with_settings("predict.threshold=0.99")
    with pytest.raises(RequestError, match=r"none of the labels.*--target"):
        nothing.explain("a warm film", method)


# A whole run.


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classification")
    for name, count in (("train", 240), ("valid", 30), ("test", 40)):
        made = rows(count) + ([{"text": "a film", "label": "new"}] if name != "train" else [])
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    columns = {"text": "text", "label": "label"}
    data = {
        "root": str(folder),
        "train": {"path": "train.jsonl", "columns": columns},
        "valid": {"path": "valid.jsonl", "columns": columns},
        "test": {"test": {"path": "test.jsonl", "columns": columns}},
    }
    plan = recipe(
        data=data,
        batches={"tokens": 256},
        optimizer={"rate": 0.02, "schedule": "constant"},
        train={"updates": 60, "every": 20, "watch": "accuracy", "higher": True},
        validation={"metrics": ["accuracy"]},
    )
    train(plan, folder / "run")
    return folder / "run"


def test_a_run_learns_and_tells_its_confusion(run: Path) -> None:
    model = load(run, verify=True)
    found = model.evaluate(Materials(model.recipe).test("test"))
    assert found.scores["accuracy"].value > 90
    assert "macro_f1" in found.scores
    table = found.details["confusion"]
    assert table.labels == ("bad", "good", "new")
    assert sum(map(sum, table.counts)) == 41
    assert "new" in str(table)
    assert [one.text for one in model.predict(["a warm moving night", "dull and cold"])] == ["good", "bad"]


def test_a_label_unseen_in_training_counts_as_wrong(run: Path) -> None:
    model = load(run)
    both = [{"text": "warm lovely", "label": "good"}, {"text": "warm lovely", "label": "new"}]
    assert model.judged(both, model.recipe.metrics).scores["accuracy"].value == 50


def test_a_saved_model_is_the_model(run: Path, tmp_path: Path) -> None:
    model: Pipeline = load(run)
    model.save(tmp_path / "copy")
    texts = [row["text"] for row in rows(10)]
    assert load(tmp_path / "copy").predict(texts) == model.predict(texts)


def test_a_run_goes_on_from_another_with_labels_of_its_own(run: Path, tmp_path: Path) -> None:
    renamed = [{**row, "label": f"{row['label']}!"} for row in rows(40)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in renamed))
    corpus = {"path": str(tmp_path / "rows.jsonl"), "columns": {"text": "text", "label": "label"}}
    plan = recipe(data={"train": corpus, "valid": corpus}, model={"start": str(run)}, train={"updates": 2, "every": 2})
    made = train(read(plan), tmp_path / "run")
    assert isinstance(made.task, ClassificationTask)
    assert made.task.labels.names == ("bad!", "good!")
    assert made.task.reading.identity == load(run).task.reading.identity  # type: ignore[attr-defined]


def test_validation_that_tells_nothing_is_no_perfect_score(tmp_path: Path) -> None:
    columns = {"text": "text", "label": "label"}
    for part, label in (("train", "good"), ("valid", "Good")):
        rows = [{"text": f"film {number}", "label": label if number % 2 else label[::-1]} for number in range(8)]
        (tmp_path / f"{part}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    data = {part: {"path": f"{part}.jsonl", "columns": columns} for part in ("train", "valid")}
    plan = recipe(data={"root": str(tmp_path), **data}, train={"updates": 2, "every": 1})
    with pytest.raises(DataError, match=r"valid\.jsonl: of nothing in it can be told .* Compare the labels"):
        train(plan, tmp_path / "run")
