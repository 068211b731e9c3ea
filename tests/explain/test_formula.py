"""The formula of a cell: its numbers give the weight that was recorded, for every kind of score."""

from math import exp
from typing import Any

import jaxtyping
import numpy as np
import pytest

from regard.attention.positions import POSITIONS
from regard.attention.scores import SCORES, Product
from regard.errors import RequestError
from regard.explain.formula import Formula, formula
from regard.explain.grid import Stack, stacks, watch
from tests.explain.toys import SMALL, Toy, classifier, language, recurrent, translator


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def named(toy: Toy, name: str) -> Stack:
    return next(stack for stack in stacks(toy) if stack.name == name)


def every(toy: Toy, stack: Stack, layer: int = 0, head: int = 0) -> list[list[Formula]]:
    """Cells of the first and the last row."""
    rows = sorted({0, stack.rows - 1})
    return [[formula(toy, stack, layer, head, row, column) for column in columns(stack)] for row in rows]


def columns(stack: Stack) -> list[int]:
    return sorted({0, 1, stack.columns - 1})


def held(toy: Toy, name: str, layer: int = 0, head: int = 0) -> list[Formula]:
    """The cells of a map that are in view; each is what its formula says and what was drawn."""
    stack = named(toy, name)
    [grid], _ = watch(toy, [stack])
    drawn = grid.weights[layer, head][sorted({0, stack.rows - 1})][:, columns(stack)] / 255
    found = every(toy, stack, layer, head)
    np.testing.assert_allclose([[cell.weight for cell in row] for row in found], drawn, atol=1 / 255)
    for cell in (cell for row in found for cell in row if cell.in_view):
        assert cell.score is not None
        assert cell.log_sum is not None
        assert exp(cell.score - cell.log_sum) * (cell.factor or 1.0) == pytest.approx(cell.weight, abs=1e-5)
    return [cell for row in found for cell in row if cell.in_view]


@pytest.mark.parametrize("score", SCORES)
def test_a_recurrent_decoder_tells_the_numbers_of_every_score(score: str) -> None:
    cells = held(recurrent(attention={"score": score}), "attention")
    assert len(cells) == 2 * 3
    assert (cells[0].product is None) == (not issubclass(SCORES[score], Product))
    for cell in cells:
        if cell.product is not None:
            assert cell.product * cell.scale == pytest.approx(cell.score, abs=1e-4)


@pytest.mark.parametrize("score", sorted(name for name, kind in SCORES.items() if issubclass(kind, Product)))
def test_every_head_tells_its_own_product(score: str) -> None:
    toy = translator(SMALL | {"attention": {"heads": 2, "score": score}})
    for head in range(2):
        for cell in held(toy, "decoder.blocks.*.cross", layer=1, head=head):
            assert cell.product * cell.scale == pytest.approx(cell.score, abs=1e-4)
            assert cell.bias is None


@pytest.mark.parametrize("position", sorted(name for name, kind in POSITIONS.items() if kind.acts == "attention"))
def test_what_positions_add_is_told(position: str) -> None:
    cells = held(language(settings=SMALL | {"position": position}), "decoder.blocks.*.attention", head=1)
    biased = "bias" in cells[0].formula
    for cell in cells:
        assert cell.product * cell.scale + (cell.bias or 0.0) == pytest.approx(cell.score, abs=1e-4)
        assert (cell.bias is not None) == biased
    assert biased == (position != "rotary")


def test_keys_that_heads_share_are_told_for_each() -> None:
    attention = {"heads": 4, "groups": 2, "normalizer": {"name": "softmax", "temperature": 2.0, "learned": True}}
    toy = translator(SMALL | {"attention": attention})
    for head in range(4):
        for cell in held(toy, "encoder.stack.blocks.*.attention", head=head):
            assert cell.product * cell.scale == pytest.approx(cell.score, abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "view"),
    [({}, 1 + 3), ({"scope": {"name": "window", "before": 1, "after": 0}}, 1 + 1)],
    ids=["ahead", "window"],
)
def test_what_is_out_of_view_has_no_weight_and_says_so(settings: dict[str, Any], view: int) -> None:
    toy = translator(SMALL | {"attention": {"heads": 2, **settings}})
    name = "decoder.blocks.*.attention"
    assert len(held(toy, name)) == view
    out = formula(toy, named(toy, name), 0, 0, 0, 3)
    assert (out.in_view, out.weight, out.score, out.text) == (False, 0.0, None, "out of view: weight 0")


def test_outputs_of_one_text_look_at_the_prompt_and_at_each_other() -> None:
    toy = language()
    inputs, outputs = held(toy, "decoder.blocks.*.attention"), held(toy, "decoder.blocks.*.attention/outputs")
    assert (len(inputs), len(outputs)) == (2 * 3, 2)
    missing = formula(toy, named(toy, "decoder.blocks.*.attention"), 0, 0, 2, 2)
    assert sum(cell.weight for cell in (*inputs[3:], missing, *outputs)) == pytest.approx(1.0, abs=1e-5)
    assert not formula(toy, named(toy, "decoder.blocks.*.attention/outputs"), 0, 0, 2, 0).in_view


def test_a_joint_attention_is_told_on_both_sides() -> None:
    toy = translator(SMALL | {"cross": "joint"})
    name = "decoder.blocks.*.attention"
    assert len(held(toy, name)) == 2 * 3
    assert len(held(toy, f"{name}/outputs")) == 1 + 3


def test_local_attention_has_a_factor_and_pooling_one_row() -> None:
    cells = held(recurrent(attention={"score": "dot", "scope": {"name": "local_p", "radius": 2}}), "attention")
    assert any(cell.factor is not None and cell.factor < 0.99 for cell in cells)
    assert " x " in cells[0].text
    assert len(held(classifier(), "head.pooling.attention.attention")) == 3


def test_sparsemax_has_a_threshold() -> None:
    toy = recurrent(attention={"score": "dot", "normalizer": "sparsemax"})
    for cell in every(toy, named(toy, "attention"))[0]:
        assert max(cell.score - cell.threshold, 0.0) == pytest.approx(cell.weight, abs=1e-5)


@pytest.mark.parametrize("parts", [{"normalizer": "hard"}, {"scope": "monotonic"}])
def test_what_has_no_such_formula_says_what_it_is(parts: dict[str, Any]) -> None:
    toy = recurrent(attention={"score": "additive", **parts})
    cells = [cell for row in every(toy, named(toy, "attention")) for cell in row]
    assert all(cell.log_sum is None and next(iter(parts.values())) in cell.formula for cell in cells)
    assert {cell.weight for cell in cells} <= {0.0, 1.0}


def test_the_formula_is_told_in_words() -> None:
    toy = translator()
    cell = formula(toy, named(toy, "decoder.blocks.*.cross"), 0, 0, 0, 0)
    assert cell.formula == "softmax(q.k / sqrt(8))"
    assert cell.text.startswith("exp(")
    assert [formula(recurrent(attention={"score": name}), named(recurrent(), "attention"), 0, 0, 0, 0).formula
            for name in ("additive", "location", "mixed", "query_network")] == [
        "softmax(v.tanh(W q + U k + b))",
        "softmax(W q)",
        "softmax(sum_i g_i score_i(q, k))",
        "softmax(f(q).k / sqrt(16), f = W2 tanh(W1 q))",
    ]  # fmt: skip


@pytest.mark.parametrize("place", [(2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 4, 0), (0, 0, 0, 5)])
def test_a_cell_that_does_not_exist_is_refused(place: tuple[int, int, int, int]) -> None:
    toy = translator()
    with pytest.raises(RequestError, match="There is no"):
        formula(toy, named(toy, "decoder.blocks.*.cross"), *place)
