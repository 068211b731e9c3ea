"""Promise 1, for attention: looking changes nothing, and what is seen is what was used."""

import pytest
import torch
from hypothesis import given as drawing
from hypothesis import strategies as st

from regard.attention import KERNELS, Mechanism, MechanismSettings, record
from regard.attention.taps import Record
from tests.attention.build import (
    MASKS,
    Given,
    Recipe,
    answers,
    assert_same_bits,
    attend,
    build,
    each_recipe,
    given,
    legal_recipes,
    masked,
    near,
    twin,
)

EVERY = [*near(2, positions=["none"]), *(recipe for recipe in near(1) if recipe.position != "none")]
PARTS = [{}, {"heads": [1]}, {"rows": [0, -1]}, {"examples": [2], "heads": [0]}, {"steps": [7]}]


def kernels_of(recipe: Recipe) -> list[str]:
    """The kernels that may be asked for this recipe under dropout, by the table in their docstring."""
    return ["reference"] if recipe.looks_back or recipe.normalizer != "softmax" else ["reference", "chunked"]


def looked_at(mechanism: Mechanism, asked: Given, **part: list[int]) -> tuple[dict[str, torch.Tensor], list[Record]]:
    with record(mechanism, "*", **part) as seen:
        found = answers(mechanism, asked)
    return found, seen


@pytest.mark.parametrize("recipe", each_recipe(EVERY))
def test_outputs_and_gradients_are_the_same_to_the_bit_in_training_and_in_evaluation(recipe: Recipe) -> None:
    mechanism = build(recipe, dropout=0.3)
    asked = masked(given(mechanism), "causal and padding")
    for kernel in kernels_of(recipe):
        for training in (True, False):
            chosen = twin(mechanism, kernel=kernel).train(training)
            found, seen = looked_at(chosen, asked)
            assert_same_bits(found, answers(chosen, asked))
            assert {entry.name for entry in seen} == {"queries", "keys", "values", "scores", "weights", "context"}


@pytest.mark.parametrize("part", PARTS, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_whatever_part_is_looked_at_nothing_changes(kernel: str, part: dict[str, list[int]]) -> None:
    mechanism = build(Recipe("cosine", position="alibi"), dtype=torch.float32, kernel=kernel)
    asked = masked(given(mechanism, dtype=torch.float32), "window and pairs and padding")
    assert_same_bits(looked_at(mechanism, asked, **part)[0], answers(mechanism, asked))


@drawing(data=st.data())
def test_whatever_is_drawn_looking_changes_nothing_and_tells_the_truth(data: st.DataObject) -> None:
    torch.manual_seed(data.draw(st.integers(0, 2**31), label="seed"))
    recipe = data.draw(st.sampled_from(legal_recipes()), label="recipe")
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]), label="dtype")
    dropout = data.draw(st.sampled_from([0.0, 0.5]), label="dropout")
    mechanism = build(recipe, dtype=dtype, dropout=dropout).train(data.draw(st.booleans(), label="training"))
    sizes = [data.draw(st.integers(1, limit), label=name) for name, limit in (("B", 3), ("Q", 5), ("K", 7))]
    asked = masked(given(mechanism, *sizes, dtype=dtype), data.draw(st.sampled_from(list(MASKS)), label="mask"))
    found, seen = looked_at(mechanism, asked)
    assert_same_bits(found, answers(mechanism, asked))
    check = next(entry.check for entry in seen if entry.name == "weights")
    limit = 1e-5 if dtype == torch.float32 else 1e-12
    assert max(check.row_sum, check.output) <= limit
    assert check.padding == 0.0


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_recorded_weights_are_what_multiplied_the_values_dropout_included(recipe: Recipe, training: bool) -> None:
    for kernel in kernels_of(recipe):
        mechanism = build(recipe, dropout=0.4, kernel=kernel).train(training)
        asked = masked(given(mechanism), "causal and padding")
        with record(mechanism) as seen:
            context = attend(mechanism, asked).context
        weights = seen[0].tensor
        if recipe.position != "relative":
            torch.testing.assert_close(weights @ asked.values, context.detach())
        alive = weights[-1].ne(0) if training else None
        assert alive is None or (~alive).any()


def test_fused_weights_are_those_of_the_plain_formula() -> None:
    mechanism = build(Recipe(position="alibi"), kernel="fused")
    asked = masked(given(mechanism), "window and pairs and padding")
    with record(mechanism) as seen:
        attend(mechanism, asked)
    plain = attend(twin(mechanism, kernel="reference"), asked).weights
    torch.testing.assert_close(seen[0].tensor, plain.detach())


def test_looking_draws_nothing_from_the_random_generator() -> None:
    mechanism = build(dropout=0.5).train()
    asked = given(mechanism)
    after = []
    for watch in (False, True):
        torch.manual_seed(3)
        if watch:
            looked_at(mechanism, asked)
        else:
            answers(mechanism, asked)
        after.append(torch.rand(4))
    assert torch.equal(*after)


def test_looking_leaves_no_trace_in_the_graph() -> None:
    mechanism = build()
    asked = given(mechanism).leaves()
    with record(mechanism, "*") as seen:
        attend(mechanism, asked)
    assert all(entry.tensor.grad_fn is None and not entry.tensor.requires_grad for entry in seen)


def test_the_fused_kernel_still_makes_the_output_when_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    honest = KERNELS["fused"]
    monkeypatch.setitem(KERNELS, "fused", lambda problem: ran.append(problem) or honest(problem))
    mechanism = Mechanism(MechanismSettings(), build().sizes).double()
    asked = given(mechanism)
    with record(mechanism):
        watched = attend(mechanism, asked)
    assert len(ran) == 1
    assert watched.weights is None
