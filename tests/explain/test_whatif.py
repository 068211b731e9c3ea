"""What would come of it if a head were off, a cell set, the source or the beginning another."""

import json
from pathlib import Path

import pytest
import torch

from regard.api import Pipeline
from regard.errors import RequestError
from regard.explain.asking import seen
from regard.explain.heads import silenced
from regard.explain.whatif import Cell, found, rescored
from tests.explain.test_pruning import translating
from tests.explain.toys import SMALL, Toy, classifier, language, recurrent, translator


def cross(toy: Toy) -> str:
    return next(look.tap for look in toy.looks if look.kind == "cross")


def test_a_head_that_is_off_is_a_head_that_is_silenced() -> None:
    toy = translator()
    with torch.no_grad(), silenced(toy, found(toy, 0), [1]):
        silent = toy.scores(toy.pieces[None])[0].tolist()
    assert rescored(toy, [(0, 1)]) == pytest.approx(silent, abs=1e-6)
    assert rescored(toy, [(0, -1)]) == pytest.approx(silent, abs=1e-6)
    assert rescored(toy, [(cross(toy), 1), (0, 1)]) == pytest.approx(silent, abs=1e-6)
    assert rescored(toy, [(0, 1)]) != pytest.approx(rescored(toy), abs=1e-4)


@pytest.mark.parametrize(
    "toy", [translator(), recurrent(), language(), classifier()], ids=["pair", "rnn", "lm", "class"]
)
def test_a_cell_set_to_what_it_is_changes_nothing(toy: Toy) -> None:
    look = found(toy, -1)
    queries = seen(toy, look, 0).map.shape[0]
    shown = {"outputs": len(toy.outputs), "inputs": len(toy.inputs), "one": 1}[look.queries]
    first = queries - shown if look.queries == "outputs" else 0
    value = float(seen(toy, look, 0).map[first, 1])
    assert rescored(toy, cell=Cell(-1, 0, 1, value, 0)) == pytest.approx(rescored(toy), abs=1e-5)
    assert rescored(toy, cell=Cell(-1, 0, 1, 1.0, 0)) != pytest.approx(rescored(toy), abs=1e-5)


def test_a_cell_moves_only_the_outputs_from_its_row_on() -> None:
    for toy in (translator(SMALL | {"layers": 1}), recurrent()):
        plain, moved = rescored(toy), rescored(toy, cell=Cell(0, 2, 0, 0.9))
        assert moved[:2] == pytest.approx(plain[:2], abs=1e-6)
        assert moved[2] != pytest.approx(plain[2], abs=1e-5)


def test_all_weight_in_one_cell_reads_that_input_alone() -> None:
    toy = translator(SMALL | {"layers": 1, "attention": {"heads": 1}})
    tap = cross(toy).replace("weights", "values")
    moved = rescored(toy, cell=Cell(0, 0, 3, 1.0))
    from regard.attention import replace

    def alone(values: torch.Tensor) -> torch.Tensor:
        return values[:, :, 3:4].expand_as(values)

    with replace(toy.model, tap, alone):
        assert moved[0] == pytest.approx(rescored(toy)[0], abs=1e-5)


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (Cell(0, 9, 0, 0.5), "no cell"),
        (Cell(0, 0, 9, 0.5), "no cell"),
        (Cell(0, -1, 0, 0.5), "no cell"),
        (Cell(0, 0, 0, 1.5), "from 0 to 1"),
        (Cell(0, 0, 0, float("nan")), "from 0 to 1"),
        (Cell(7, 0, 0, 0.5), "no layer 7"),
        (Cell(0, 0, 0, 0.5, 5), "no head 5"),
        (Cell("decoder.blocks.0.attention", 0, 1, 0.5), "not written yet"),
        (Cell("decoder.nowhere", 0, 0, 0.5), "attention"),
    ],
)
def test_a_cell_that_is_not_there_is_told(cell: Cell, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        rescored(translator(), cell=cell)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return translating(tmp_path_factory.mktemp("whatif"), heads=2)


TEXT = "Thomas has no money."


def test_before_is_the_prediction_and_all_of_it_is_json(model: Pipeline) -> None:
    told = model.whatif(TEXT, heads_off=[(0, 0)])
    assert told.before.text == model.predict([TEXT])[0].text
    assert told.before.source == TEXT
    plain = json.loads(json.dumps(told.plain(), allow_nan=False))
    assert plain["change"] == pytest.approx(sum(plain["changes"]))
    assert len(plain["before"]["outputs"]) == len(plain["before"]["probabilities"]) == len(plain["changes"])
    assert all(0 <= one <= 1 for one in told.after.probabilities)


def test_a_change_that_is_none_changes_nothing(model: Pipeline) -> None:
    told = model.whatif(TEXT, source=TEXT)
    assert told.after == told.before
    assert told.change == pytest.approx(0.0, abs=1e-5)


def test_another_source_is_what_is_predicted_for_it(model: Pipeline) -> None:
    told = model.whatif(TEXT, source="Thank you.")
    assert told.after.text == model.predict(["Thank you."])[0].text
    assert (told.changes is None) == bool(told.note)


def test_a_forced_beginning_begins_the_output(model: Pipeline) -> None:
    told = model.whatif(TEXT, prefix="Thomas hat")
    assert told.after.text.startswith("Thomas hat")
    assert told.changes is not None
    assert told.change == pytest.approx(0.0, abs=1e-5)


def test_everything_at_once(model: Pipeline) -> None:
    told = model.whatif(
        TEXT,
        source="Thank you.",
        prefix="Danke",
        heads_off=[(0, 1), ("decoder.blocks.0.attention", 0)],
        cell=(0, 0, 1, 0.7),
    )
    assert told.after.text.startswith("Danke")
    again = model.whatif(TEXT, source="Thank you.", prefix="Danke", heads_off=[(0, 1)])
    assert told.after.scores != again.after.scores
    # Nothing stays behind in the model.
    assert model.whatif(TEXT, source=TEXT).change == pytest.approx(0.0, abs=1e-5)


def test_what_cannot_be_is_told_in_a_sentence(model: Pipeline) -> None:
    with pytest.raises(RequestError, match="Nothing would be otherwise"):
        model.whatif(TEXT)
    with pytest.raises(RequestError, match="at least one word"):
        model.whatif("  ", heads_off=[(0, 0)])
    with pytest.raises(RequestError, match="at least one word"):
        model.whatif(TEXT, source="")
    with pytest.raises(RequestError, match="no head 2"):
        model.whatif(TEXT, heads_off=[(0, 2)])
    for cell in ([0, 0, 1], [0, 0, 1, 0.5, 0, 0], ["x", None, 1, 0.5], [], [0, 0.5, 1, 0.5]):
        with pytest.raises(RequestError, match="no cell"):
            model.whatif(TEXT, cell=cell)


def test_a_failure_leaves_the_model_as_it_was(model: Pipeline, tmp_path: Path) -> None:
    before = model.predict([TEXT])[0]
    with pytest.raises(RequestError):
        model.whatif(TEXT, heads_off=[(0, 0)], cell=(0, 999, 0, 0.5))
    assert model.predict([TEXT])[0] == before
