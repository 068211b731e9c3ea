"""Labels of which a text has a share each: from people who disagree, or from another model."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from typer.testing import CliRunner

from regard.api import Materials, Training, load, train
from regard.cli import app
from regard.errors import ConfigError, DataError
from regard.nn.losses import shared_cross_entropy, smoothed_cross_entropy
from regard.tasks.classification import ClassificationTask
from regard.tasks.labelling import Labels
from tests.tasks.test_classification import batch, learned, recipe, rows

SOFT = {"labels": {"soft": True}}
COLUMNS = {"text": "text", "label": "label"}


def softened(made: list[dict[str, str]], sure: float) -> list[dict[str, str]]:
    """The same rows, their label as likely as this and the other one as what is left."""
    other = {"good": "bad", "bad": "good"}
    return [{**row, "label": json.dumps({row["label"]: sure, other[row["label"]]: round(1 - sure, 6)})} for row in made]


def test_a_label_that_is_likeliest_nowhere_is_known_even_so() -> None:
    found = Labels.learn(['{"a": 0.6, "c": 0.4}', "b", '{"a": 1.0}'], several=False, soft=True)
    assert (found.names, found.counts) == (("a", "b", "c"), (2, 1, 0))
    assert Labels.load(found.files(), several=False, soft=True) == found


def test_shares_are_kept_to_a_ten_thousandth_and_unknown_labels_left_out() -> None:
    found = Labels.learn(["a", "b", "c"], several=False, soft=True)
    assert found.encode('{"c": 0.25, "a": 0.75, "b": 0.00004}') == [0, 7500, 2, 2500]
    assert found.encode(" b ") == [1, 10_000]
    assert found.encode('{"a": 0.5, "new": 0.5}') == [0, 5000]
    assert found.encode("new") == []
    # Only what counts as right can be wrong.
    assert found.strange('{"a": 0.4, "new": 0.6}') == ["new"]
    assert found.strange('{"a": 1.0, "new": 0.0}') == []
    # Rounded shares that add up to nearly 1 are made to.
    assert found.encode('{"a": 0.333, "b": 0.333, "c": 0.333}') == [0, 3333, 1, 3333, 2, 3333]


def test_of_several_labels_each_has_a_share_of_its_own() -> None:
    found = Labels.learn(['{"a": 0.9, "b": 0.8, "c": 0.1}', "c"], several=True, soft=True)
    assert (found.names, found.counts) == (("a", "b", "c"), (1, 1, 1))
    assert found.encode('{"a": 0.9, "b": 0.8}') == [0, 9000, 1, 8000]
    assert found.encode("a|b") == [0, 10_000, 1, 10_000]


@given(
    st.integers(1, 5).flatmap(
        lambda classes: st.lists(
            st.lists(st.floats(0.01, 1), min_size=classes, max_size=classes), min_size=1, max_size=6
        )
    ),
    st.sampled_from([0.0, 0.1, 0.5]),
)
def test_the_loss_is_torch_s_own_of_probabilities(drawn: list[list[float]], smoothing: float) -> None:
    shares = torch.tensor(drawn)
    shares = shares / shares.sum(1, keepdim=True)
    logits = torch.randn(shares.shape, generator=torch.Generator().manual_seed(1)).requires_grad_()
    found = shared_cross_entropy(logits, shares, smoothing)
    expected = F.cross_entropy(logits, shares, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(found.total, expected)
    gradients = [torch.autograd.grad(loss, logits)[0] for loss in (found.total, expected)]
    torch.testing.assert_close(*gradients)
    torch.testing.assert_close(found.nll, F.cross_entropy(logits.detach(), shares, reduction="sum"))
    assert found.count == len(shares)


def test_a_row_without_any_share_counts_for_nothing() -> None:
    logits = torch.randn(3, 2, requires_grad=True)
    shares = torch.tensor([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    found = shared_cross_entropy(logits, shares, 0.1)
    expected = smoothed_cross_entropy(logits[[0, 2]], torch.tensor([1, 0]), 0.1)
    torch.testing.assert_close((found.total, found.nll), (expected.total, expected.nll))
    assert found.count == expected.count == 2
    found.total.backward()
    assert logits.grad is not None
    assert not logits.grad[1].any()


@pytest.mark.parametrize("several", [False, True])
def test_labels_that_are_sure_are_learned_from_as_hard_ones_are(several: bool) -> None:
    made = rows(12, several)
    hard, soft = (learned(made, labels={"several": several, "soft": soft}) for soft in (False, True))
    model = hard.model().eval()
    found = [task.loss(model, batch(task, made), 0.1) for task in (hard, soft)]
    torch.testing.assert_close(found[0].total, found[1].total)
    torch.testing.assert_close(found[0].nll, found[1].nll)
    assert found[0].count == found[1].count == 12


def test_parts_of_a_batch_add_up_and_two_readings_agree() -> None:
    made = softened(rows(12), 0.8)
    task = learned(made, loss={"agreement": 2.0}, **SOFT)
    model = task.model().eval()
    whole = task.loss(model, batch(task, made), 0.1)
    parts = task.loss(model, batch(task, made[:5]), 0.1) + task.loss(model, batch(task, made[5:]), 0.1)
    torch.testing.assert_close((whole.total, whole.nll), (parts.total, parts.nll), atol=1e-4, rtol=1e-5)
    assert task.loss(model.train(), batch(task, made), 0.1).count == 12


@pytest.mark.parametrize(
    ("label", "settings", "told"),
    [
        ({"good": 0.9, "bad": 0.1}, {}, r"a share of each; set labels\.soft = true"),
        ({"good": 0.9, "bad": 0.3}, {"soft": True}, "add up to 1.2, not to 1"),
        ({"good": 1.5, "bad": -0.5}, {"soft": True}, "the share of 'good' is 1.5"),
        ({"good": 1.0, " ": 0.0}, {"soft": True}, "without a name"),
        ({"good": 1.5}, {"soft": True, "several": True}, "the share of 'good' is 1.5"),
        ({"good": "very"}, {"soft": True}, "no share of each"),
        ({"good": 10**400}, {"soft": True}, "no share of each"),
        ({"good|bad": 1.0}, {"soft": True}, r"a label has \| in it"),
        ({"good": 0.9, "good ": 0.1}, {"soft": True}, "each once"),
        ({}, {"soft": True}, "no share of each"),
        ({}, {}, "names no class"),
        ({"good": 0.9, "bad": 0.3}, {"soft": True, "several": True}, ""),
        ({"good": 0.666, "bad": 0.333}, {"soft": True}, ""),
        ({"good": 1, "bad": 0}, {"soft": True}, ""),
    ],
)
def test_what_is_no_share_is_named_by_line(label: Any, settings: dict[str, bool], told: str, tmp_path: Path) -> None:
    corpus = {"path": "rows.jsonl", "columns": COLUMNS}
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "a film", "label": label}) + "\n")
    asked = recipe(data={"root": str(tmp_path), "train": corpus, "valid": corpus}, labels=settings)
    if not told:
        assert len(list(Materials(asked).valid)) == 1
        return
    with pytest.raises(DataError, match=rf"rows\.jsonl line 1: .*{told}"):
        list(Materials(asked).valid)


def test_what_is_right_is_the_likeliest_label() -> None:
    row = {"text": "a film", "label": '{"bad": 0.4, "good": 0.6}'}
    assert ClassificationTask.references(row, recipe(**SOFT)) == ["good"]
    assert ClassificationTask.references({**row, "label": "bad"}, recipe(**SOFT)) == ["bad"]
    several = recipe(labels={"soft": True, "several": True})
    assert ClassificationTask.references({**row, "label": '{"a": 0.7, "b": 0.6, "c": 0.2}'}, several) == ["a|b"]


@pytest.mark.parametrize("label", ['{"a": 0.9, "a": 0.1, "b": 0.9}', '{"a": 0.9', '{"a": [1]}'])
def test_what_looks_like_shares_and_is_not_is_no_label_by_that_name(label: str) -> None:
    row = {"text": "a film", "label": label}
    assert "each once" in ClassificationTask.fault(row, recipe(**SOFT))
    assert not ClassificationTask.fault(row, recipe())


def test_labels_of_which_none_is_likely_are_nothing_to_remark_upon() -> None:
    field = '{"a": 0.4, "b": 0.3}'
    found = Labels.learn([field], several=True, soft=True)
    assert (found.names, found.counts) == (("a", "b"), (0, 0))
    assert found.remarks([("rows line 1", field)] * 2) == []


def test_shares_that_vary_tell_texts_apart_and_are_not_told_to_be_balanced() -> None:
    fields = ['{"a": 0.9, "b": 0.1}', '{"a": 0.6, "b": 0.4}'] * 20
    found = Labels.learn(fields, several=False, soft=True)
    assert found.remarks(("rows line 1", field) for field in fields) == []


def test_how_many_shares_a_label_has_makes_no_text_longer(tmp_path: Path) -> None:
    names = [f"class{number}" for number in range(60)]
    made = [{"text": f"film {number}", "label": dict.fromkeys(names, 1 / 60)} for number in range(30)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    corpus = {"path": "rows.jsonl", "columns": COLUMNS}
    plan = recipe(
        data={"root": str(tmp_path), "train": corpus, "valid": corpus},
        batches={"tokens": 200, "longest": 16},
        train={"updates": 1, "every": 1},
        **SOFT,
    )
    training = Training(plan, tmp_path / "run")
    training.claim()
    ((_, batch),) = islice(training.walk(()), 1)
    assert batch.wanted.shape == (30, 60)
    torch.testing.assert_close(batch.wanted.sum(1), torch.ones(30), atol=0.01, rtol=0)


def test_soft_labels_are_not_balanced() -> None:
    with pytest.raises(ConfigError, match=r"head\.weights"):
        ClassificationTask.check(recipe(head={"weights": "balanced"}, **SOFT))


def test_a_model_learns_from_what_another_predicts(tmp_path: Path) -> None:
    """Texts nobody labelled, told by a teacher: `regard predict --json` is training data as it is."""
    for name, made in (("train", rows(200)), ("test", rows(40))):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    shared: dict[str, Any] = {
        "batches": {"tokens": 256},
        "optimizer": {"rate": 0.02, "schedule": "constant"},
        "train": {"updates": 40, "every": 20},
    }
    test = {"test": {"path": "test.jsonl", "columns": COLUMNS}}
    data = {"root": str(tmp_path), "train": {"path": "train.jsonl", "columns": COLUMNS}, "test": test}
    data["valid"] = test["test"]
    train(recipe(data=data, **shared), tmp_path / "teacher")
    (tmp_path / "plain.txt").write_text("".join(row["text"] + "\n" for row in rows(150)))
    asked = ["predict", str(tmp_path / "teacher"), str(tmp_path / "plain.txt"), "--json"]
    told = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "told.jsonl")])
    assert told.exit_code == 0, told.output
    columns = {"text": "source", "label": "probabilities"}
    data["train"] = {"path": "told.jsonl", "columns": columns}
    student = train(recipe(data=data, model={"name": "recurrent", "width": 8}, **SOFT, **shared), tmp_path / "student")
    found = student.evaluate(Materials(student.recipe).test("test"))
    assert found.scores["accuracy"].value > 85
    assert load(tmp_path / "student").predict(["a warm moving night"])[0].text == "good"
