"""Three kernels, one answer: forward and every gradient, and a plain word where a kernel cannot."""

import pytest
import torch
from hypothesis import given as drawing
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import FREE, KERNELS, LOOK_AHEAD, SCORES, Memory, chunks, kernels, pairs, record, window
from regard.attention.problem import Problem
from regard.attention.scores import Product
from regard.errors import ConfigError, ModelError
from tests.attention.build import (
    MASKS,
    Given,
    Recipe,
    answers,
    assert_close,
    attend,
    build,
    each_recipe,
    given,
    legal_recipes,
    masked,
    near,
    refused,
    shares_keys,
    twin,
)

OTHERS = [name for name in KERNELS if name != "reference"]
ONLINE = near(2, normalizers=["softmax"])


@pytest.fixture(autouse=True)
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two rows and three columns, so that toys are computed in many of them."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 2)
    monkeypatch.setattr(chunks, "CHUNK_COLUMNS", 3)


def can(kernel: str, recipe: Recipe) -> bool:
    """What the table in the kernels' docstring promises, for softmax, no dropout and equal widths."""
    if kernel == "reference":
        return True
    if recipe.looks_back or recipe.normalizer != "softmax":
        return False
    if kernel == "chunked":
        return True
    fixed_bias = recipe.position not in ("relative", "bucketed")
    return issubclass(SCORES[recipe.score], Product) and recipe.scope != "local_p" and fixed_bias


def agree(kernel: str, asked: Given, mechanism: torch.nn.Module) -> None:
    assert_close(answers(twin(mechanism, kernel=kernel), asked), answers(twin(mechanism, kernel="reference"), asked))


@pytest.mark.parametrize("recipe", each_recipe(ONLINE))
def test_every_kernel_gives_the_reference_answer_or_refuses(recipe: Recipe) -> None:
    mechanism = build(recipe)
    asked = masked(given(mechanism), "causal and padding")
    expected = answers(twin(mechanism, kernel="reference"), asked)
    for kernel in OTHERS:
        if can(kernel, recipe):
            assert_close(answers(twin(mechanism, kernel=kernel), asked), expected)
        else:
            refused((ConfigError, ModelError), lambda name=kernel: answers(twin(mechanism, kernel=name), asked), kernel)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kernel", OTHERS)
def test_kernels_agree_under_every_mask(kernel: str, mask: str) -> None:
    mechanism = build(normalizer={"name": "softmax", "temperature": 0.7, "learned": True})
    agree(kernel, masked(given(mechanism), mask), mechanism)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("recipe", each_recipe([Recipe(position="relative"), Recipe("additive", "local_p")]))
def test_the_chunked_kernel_agrees_under_dropout_and_every_mask(recipe: Recipe, mask: str) -> None:
    mechanism = build(recipe, dropout=0.4).train()
    agree("chunked", masked(given(mechanism), mask), mechanism)


@settings(max_examples=60)
@drawing(data=st.data())
def test_kernels_agree_whatever_is_drawn(data: st.DataObject) -> None:
    torch.manual_seed(data.draw(st.integers(0, 2**31), label="seed"))
    kernel = data.draw(st.sampled_from(OTHERS), label="kernel")
    everything = [one for one in legal_recipes(normalizers=["softmax"]) if not one.looks_back]
    recipe = data.draw(st.sampled_from(everything), label="recipe")
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]), label="dtype")
    groups = data.draw(st.integers(1, 3), label="groups")
    heads = groups * (data.draw(st.integers(1, 2), label="heads a group") if shares_keys(recipe.score) else 1)
    value = data.draw(st.sampled_from([4, 3, 6]), label="value width") if recipe.position != "relative" else 4
    normalizer = {"name": "softmax", "temperature": 1.5, "learned": data.draw(st.booleans(), label="learned")}
    dropout = data.draw(st.sampled_from([0.0, 0.3]), label="dropout")
    mechanism = build(
        recipe, value=value, heads=heads, groups=groups, dtype=dtype, normalizer=normalizer, dropout=dropout
    ).train()
    sizes = [data.draw(st.integers(1, limit), label=name) for name, limit in (("B", 3), ("Q", 7), ("K", 9))]
    asked = masked(given(mechanism, *sizes, dtype=dtype), data.draw(st.sampled_from(list(MASKS)), label="mask"))
    reason = kernels.REFUSALS[kernel](problem_of(twin(mechanism, kernel="reference"), asked))
    if reason:
        refused(ModelError, lambda: attend(twin(mechanism, kernel=kernel), asked), kernel, reason)
    else:
        agree(kernel, asked, mechanism)


def problem_of(mechanism: torch.nn.Module, asked: Given) -> Problem:
    memory = mechanism.remember(asked.keys, asked.values, asked.real)
    query = mechanism.position.rotate(asked.query, range(asked.query.shape[2]))
    return mechanism._problem(query, memory, asked.mask, range(asked.query.shape[2]), None)


@pytest.mark.parametrize("kernel", OTHERS)
@pytest.mark.parametrize("recipe", each_recipe([Recipe(), Recipe("general"), Recipe(position="alibi")]))
def test_kernels_agree_in_single_precision_at_a_length_of_many_blocks(recipe: Recipe, kernel: str) -> None:
    mechanism = build(recipe, dtype=torch.float32, heads=4, groups=2)
    asked = given(mechanism, 2, 17, 17, LOOK_AHEAD, dtype=torch.float32)
    agree(kernel, asked, mechanism)


@pytest.mark.parametrize("kernel", OTHERS)
def test_tensors_may_lie_in_memory_as_they_like(kernel: str) -> None:
    """torch's flash operator reads garbage when a vector's numbers do not lie side by side."""
    mechanism = build(Recipe("dot"))
    asked = given(mechanism)
    sideways = Given(*(tensor.mT.contiguous().mT for tensor in (asked.query, asked.keys, asked.values)))
    for tensor in (sideways.query, sideways.keys, sideways.values):
        assert tensor.stride(-1) != 1
        tensor.requires_grad_()
    plain = asked.leaves()
    found = attend(twin(mechanism, kernel=kernel), sideways)
    expected = attend(twin(mechanism, kernel="reference"), plain)
    torch.testing.assert_close(found.context, expected.context)
    toward = torch.randn_like(found.context.mT).mT
    for context in (found.context, expected.context):
        context.backward(toward)
    for name in ("query", "keys", "values"):
        torch.testing.assert_close(getattr(sideways, name).grad, getattr(plain, name).grad)


@pytest.mark.parametrize("kernel", OTHERS)
def test_one_question_may_be_asked_of_a_whole_batch(kernel: str) -> None:
    """An expanded tensor has no stride along the batch at all."""
    mechanism = build()
    asked = given(mechanism)
    for query in (asked.query[:1].expand(3, -1, -1, -1), asked.query[:, :, :1].expand(-1, -1, 5, -1)):
        agree(kernel, Given(query, asked.keys, asked.values), mechanism)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kernel", OTHERS)
def test_rows_that_see_nothing_in_their_first_blocks_see_the_rest(
    kernel: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch's own kernel works in blocks of 512 keys; these rows begin with one or two of which they see none."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 40)
    monkeypatch.setattr(chunks, "CHUNK_COLUMNS", 300)
    mechanism = build(heads=1, dtype=dtype)
    real, allowed = torch.ones(2, 1100, dtype=torch.bool), torch.ones(70, 1100, dtype=torch.bool)
    real[0, :700], real[1, :1099] = False, False
    allowed[7], allowed[9, :1060] = False, False
    agree(kernel, given(mechanism, 2, 70, 1100, pairs(allowed), real, dtype), mechanism)


def test_the_fused_path_of_other_devices_gives_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no such device here, but torch's public operator, which that path takes, runs on any."""

    def elsewhere(problem: Problem) -> kernels.Result:
        asked = problem.formula.score.ask(problem.query)
        return kernels._fused_elsewhere(
            problem, asked, kernels._additive_mask(problem), False, problem.formula.score.scale
        )

    mechanism = build(Recipe("general", position="alibi"), heads=4, groups=2)
    asked = masked(given(mechanism), "window and pairs and padding")
    expected = answers(twin(mechanism, kernel="reference"), asked)
    monkeypatch.setitem(KERNELS, "fused", elsewhere)
    watched = twin(mechanism, kernel="fused")
    with record(watched, heads=[3, 0]) as seen:
        assert_close(answers(watched, asked), expected)
    plain = attend(twin(mechanism, kernel="reference"), asked).weights[:, [3, 0]]
    torch.testing.assert_close(seen[0].tensor, plain.detach())


@pytest.mark.parametrize("kernel", OTHERS)
def test_queries_may_stand_anywhere_among_the_keys(kernel: str) -> None:
    mechanism = build(Recipe(position="rotary"))
    asked, at = given(mechanism), torch.tensor([[3, 1, -1, 5, 0]])
    contexts = []
    for name in ("reference", kernel):
        chosen = twin(mechanism, kernel=name)
        memory = chosen.remember(asked.keys, asked.values, at=torch.tensor([[0, 1, 2, 3, -1, 5]]))
        contexts.append(chosen(asked.query, memory, LOOK_AHEAD, at).context)
    torch.testing.assert_close(contexts[1], contexts[0])
    assert contexts[0][:, :, 2].eq(0).all()


@pytest.mark.parametrize("kernel", OTHERS)
def test_parameters_that_do_not_learn_get_no_gradient(kernel: str) -> None:
    mechanism = twin(build(Recipe("general")), kernel=kernel)
    mechanism.score.bilinear.requires_grad_(False)
    asked = given(mechanism).leaves()
    attend(mechanism, asked).context.sum().backward()
    assert mechanism.score.bilinear.grad is None
    assert asked.query.grad is not None


def test_the_reference_kernel_has_second_derivatives() -> None:
    mechanism = twin(build(Recipe("additive", position="relative"), heads=1, key=2, query=2), kernel="reference")
    asked = given(mechanism, 1, 2, 3).leaves()

    def context(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        return mechanism(query, mechanism.remember(keys, values)).context

    assert torch.autograd.gradgradcheck(context, (asked.query, asked.keys, asked.values), fast_mode=True)


@pytest.mark.parametrize("kernel", OTHERS)
def test_other_kernels_say_that_they_have_no_second_derivative(kernel: str) -> None:
    mechanism = twin(build(), kernel=kernel)
    asked = given(mechanism).leaves()
    context = attend(mechanism, asked).context
    refused(
        ModelError,
        lambda: torch.autograd.grad(context.sum(), asked.query, create_graph=True),
        f"The {kernel} kernel has no second derivative",
        "'reference'",
    )


@pytest.mark.parametrize(
    ("settings", "kernel", "word"),
    [
        ({"normalizer": "sparsemax"}, "chunked", "Sparsemax"),
        ({"normalizer": "hard"}, "fused", "Hard"),
        ({"score": "additive"}, "fused", "Additive"),
        ({"position": "relative"}, "fused", "positions that change the values"),
        ({"position": "bucketed"}, "fused", "a learned bias while gradients are on"),
        ({"scope": "local_p"}, "fused", "LocalP"),
        ({"dropout": 0.1}, "fused", "dropout"),
    ],
)
def test_a_kernel_that_cannot_says_why(settings: dict[str, object], kernel: str, word: str) -> None:
    mechanism = build(kernel=kernel, **settings).train()
    refused(ModelError, lambda: attend(mechanism, given(mechanism)), f"The {kernel} kernel", word)


def test_a_bias_that_a_learned_temperature_divides_learns_too() -> None:
    learned = {"name": "softmax", "learned": True}
    mechanism = build(Recipe(position="alibi"), normalizer=learned, kernel="fused")
    refused(ModelError, lambda: attend(mechanism, given(mechanism)), "a learned bias while gradients are on")
    with torch.no_grad():
        asked = given(mechanism)
        torch.testing.assert_close(
            attend(mechanism, asked).context, attend(twin(mechanism, kernel="reference"), asked).context
        )
    agree("fused", asked, build(normalizer=learned))


def test_a_kernel_that_cannot_say_values_of_another_width_says_both_widths() -> None:
    mechanism = build(kernel="fused", value=3)
    refused(ModelError, lambda: attend(mechanism, given(mechanism)), "width 3", "width 4")


@pytest.mark.parametrize("kernel", OTHERS)
@pytest.mark.parametrize("settings", [{"score": "location_aware"}, {"scope": "monotonic"}, {"explicit": True}])
def test_a_kernel_that_holds_no_weights_is_refused_where_they_are_needed(
    settings: dict[str, object], kernel: str
) -> None:
    refused(ConfigError, lambda: build(kernel=kernel, **settings), kernel, "'reference'")


def test_an_unknown_kernel_is_refused_before_anything_runs() -> None:
    refused(ConfigError, lambda: build(kernel="fusde"), "'fusde'", "'fused'")


def test_a_learned_bias_is_fused_when_no_gradient_is_wanted() -> None:
    mechanism = build(Recipe(position="bucketed"))
    asked = given(mechanism)
    with torch.no_grad():
        fused, plain = (attend(twin(mechanism, kernel=name), asked).context for name in ("fused", "reference"))
    torch.testing.assert_close(fused, plain)


def test_the_cheapest_kernel_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, dropped = build(), build(dropout=0.1).train()
    asked = given(plain)
    assert kernels.cheapest(problem_of(plain, asked)) == "fused"
    assert kernels.cheapest(problem_of(dropped, asked)) == "reference"
    monkeypatch.setattr(kernels, "MANY_WEIGHTS", 10)
    assert kernels.cheapest(problem_of(dropped, asked)) == "chunked"
    assert kernels.cheapest(problem_of(build(normalizer="sparsemax"), asked)) == "reference"


@pytest.mark.parametrize(
    ("mask", "kernel"), [(FREE, "fused"), (LOOK_AHEAD, "fused"), (window(2, 2), "chunked"), (window(9, 9), "fused")]
)
def test_a_mask_too_large_to_draw_is_left_to_chunks(monkeypatch: pytest.MonkeyPatch, mask: object, kernel: str) -> None:
    monkeypatch.setattr(kernels, "MANY_WEIGHTS", 10)
    monkeypatch.setattr(kernels, "MANY_MASKED", 10)
    mechanism = build()
    assert kernels.cheapest(problem_of(mechanism, given(mechanism, queries=6, mask=mask))) == kernel


def test_no_kernel_meets_an_empty_memory() -> None:
    """torch's flash operator ends the whole process (SIGFPE) when there are no keys."""
    mechanism = twin(build(), kernel="fused")
    asked, nothing = given(mechanism), torch.zeros(3, 2, 0, 4, dtype=torch.float64)
    refused(ModelError, lambda: mechanism.remember(nothing, nothing), "no keys")
    refused(ModelError, lambda: mechanism(asked.query, Memory(nothing, nothing, None, range(0))), "no keys")
    memory = mechanism.remember(asked.keys, asked.values)
    refused(ModelError, lambda: mechanism(asked.query[:, :, :0], memory), "no query")


def test_no_kernel_meets_an_empty_batch() -> None:
    mechanism = twin(build(), kernel="fused")
    asked = given(mechanism)
    memory = mechanism.remember(asked.keys, asked.values)
    none = torch.zeros(0, dtype=torch.long)
    refused(ModelError, lambda: mechanism(asked.query[:0], memory), "0 rows")
    refused(ModelError, lambda: mechanism(asked.query, memory.select(none)), "0 memories")
