"""Promise 2: True = may attend, everywhere; a row that may attend to nothing gives zeros and zero gradient."""

import pytest
import torch
from hypothesis import given as drawing
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import KERNELS, HeadsSettings, Mechanism, MultiHeadAttention, pairs, real_keys, record
from tests.attention.build import (
    MASKS,
    Given,
    Recipe,
    answers,
    attend,
    build,
    drawn,
    each_recipe,
    given,
    legal_recipes,
    masked,
    near,
)


def kernels_of(recipe: Recipe, dropout: float) -> list[str]:
    if recipe.looks_back or recipe.normalizer != "softmax":
        return ["reference"]
    plain = dropout == 0 and recipe.score in ("dot", "scaled_dot", "general", "cosine", "query_network")
    fused = plain and recipe.position in ("none", "rotary", "alibi") and recipe.scope != "local_p"
    return ["reference", "chunked", "fused"] if fused else ["reference", "chunked"]


def dead(asked: Given) -> Tensor:
    """batch x heads x queries: rows that may attend to nothing."""
    return ~drawn(asked).any(-1)


def unseen(asked: Given) -> Tensor:
    """batch x keys: keys that nobody may attend to."""
    return ~drawn(asked).any(2).any(1)


def holds(mechanism: Mechanism, asked: Given) -> None:
    found = answers(mechanism, asked)
    assert all(tensor.isfinite().all() for tensor in found.values())
    assert found["context"][dead(asked)].eq(0).all()
    assert found["query"][dead(asked)].eq(0).all()
    for name in ("keys", "values"):
        hidden = unseen(asked)[:, None].expand(found[name].shape[:3])
        assert found[name][hidden].eq(0).all()


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_dead_rows_and_masked_keys_get_zeros_and_exactly_zero_gradients(recipe: Recipe, dropout: float) -> None:
    for kernel in kernels_of(recipe, dropout):
        mechanism = build(recipe, dropout=dropout, kernel=kernel).train(dropout > 0)
        asked = masked(given(mechanism), "window and pairs and padding")
        assert dead(asked).any()
        assert unseen(asked).any()
        holds(mechanism, asked)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_keeps_the_promise_under_every_mask(kernel: str, mask: str) -> None:
    mechanism = build(kernel=kernel, dtype=torch.float32)
    holds(mechanism, masked(given(mechanism, dtype=torch.float32), mask))


@drawing(data=st.data())
def test_the_promise_holds_whatever_is_drawn(data: st.DataObject) -> None:
    torch.manual_seed(data.draw(st.integers(0, 2**31), label="seed"))
    recipe = data.draw(st.sampled_from(legal_recipes()), label="recipe")
    dropout = data.draw(st.sampled_from([0.0, 0.5]), label="dropout")
    kernel = data.draw(st.sampled_from(kernels_of(recipe, dropout)), label="kernel")
    mechanism = build(recipe, dropout=dropout, kernel=kernel).train()
    sizes = [data.draw(st.integers(1, limit), label=name) for name, limit in (("B", 3), ("Q", 5), ("K", 7))]
    asked = given(mechanism, *sizes)
    allowed = torch.rand(sizes[0], 1, sizes[1], sizes[2]) < data.draw(st.sampled_from([0.1, 0.5]), label="density")
    allowed[0, 0, 0, 0] = True
    holds(mechanism, Given(asked.query, asked.keys, asked.values, None, pairs(allowed)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_batch_of_which_one_text_is_empty_is_no_trouble(kernel: str) -> None:
    mechanism = build(kernel=kernel)
    asked = given(mechanism, real=torch.tensor([[True] * 6, [False] * 6, [True] + [False] * 5]))
    found = answers(mechanism, asked)
    assert found["context"][1].eq(0).all()
    assert found["query"][1].eq(0).all()
    torch.testing.assert_close(found["context"][2], asked.values[2, :, :1].expand(2, 5, 4))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_call_in_which_every_row_is_dead_gives_zeros(kernel: str) -> None:
    """Masks joined by & may leave nothing, though neither alone did."""
    mechanism = build(kernel=kernel)
    left, right = torch.tensor([True, True, True, False, False, False]), torch.tensor([False] * 3 + [True] * 3)
    mask = real_keys(left.expand(3, 6)) & real_keys(right.expand(3, 6))
    asked = Given(*(getattr(given(mechanism), name) for name in ("query", "keys", "values")), None, mask)
    found = answers(mechanism, asked)
    assert all(tensor.eq(0).all() for tensor in found.values())


@pytest.mark.parametrize("kernel", KERNELS)
def test_true_means_may_attend_in_every_way_to_say_it(kernel: str) -> None:
    mechanism = build(kernel=kernel)
    asked = given(mechanism)
    real = torch.tensor([[True, False, True, True, False, True]]).expand(3, 6).contiguous()
    seen = Given(asked.query, asked.keys[:, :, [0, 2, 3, 5]], asked.values[:, :, [0, 2, 3, 5]])
    expected = attend(mechanism, seen).context
    ways = [
        Given(asked.query, asked.keys, asked.values, real),
        Given(asked.query, asked.keys, asked.values, None, real_keys(real)),
        Given(asked.query, asked.keys, asked.values, None, pairs(real[:1].expand(5, 6))),
        Given(asked.query, asked.keys, asked.values, None, pairs(real[:, None].expand(3, 5, 6))),
        Given(asked.query, asked.keys, asked.values, real, pairs(real[:, None, None].expand(3, 2, 5, 6))),
    ]
    for way in ways:
        torch.testing.assert_close(attend(mechanism, way).context, expected)


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_no_weight_lies_where_the_mask_forbids(recipe: Recipe) -> None:
    mechanism = build(recipe)
    asked = masked(given(mechanism), "window and pairs and padding")
    with record(mechanism) as seen:
        attend(mechanism, asked)
    assert seen[0].tensor[~drawn(asked)].eq(0).all()
    assert seen[0].tensor[drawn(asked)].ne(0).any()


@pytest.mark.parametrize("kernel", KERNELS)
def test_pieces_that_nobody_may_attend_to_do_not_move_their_embeddings(kernel: str) -> None:
    table = torch.nn.Embedding(9, 8)
    attention = MultiHeadAttention(HeadsSettings.of(heads=2, kernel=kernel), 8)
    pieces, real = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]]), torch.tensor([[True] * 3 + [False], [True, False] * 2])
    memory = attention.remember(table(pieces), real)
    attention(torch.randn(2, 3, 8), memory).pow(2).sum().backward()
    moved = table.weight.grad.ne(0).any(-1)
    assert moved.tolist() == [True, True, True, True, True, False, False, False, False]


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_garbage_in_padding_changes_nothing_not_even_a_gradient(recipe: Recipe) -> None:
    real = torch.arange(6) < torch.tensor([[4], [6], [0]])
    for kernel in kernels_of(recipe, 0.0):
        mechanism = build(recipe, kernel=kernel)
        asked = given(mechanism, real=real)
        spoiled = Given(asked.query, asked.keys.clone(), asked.values.clone(), real)
        for tensor in (spoiled.keys, spoiled.values):
            tensor.transpose(1, 2)[~real] = 1e12
        clean, dirty = answers(mechanism, asked), answers(mechanism, spoiled)
        for name, tensor in clean.items():
            torch.testing.assert_close(dirty[name], tensor)


@pytest.mark.parametrize("kernel", KERNELS)
def test_garbage_may_be_as_large_as_single_precision_allows(kernel: str) -> None:
    real = torch.arange(6) < torch.tensor([[4], [6], [0]])
    mechanism = build(kernel=kernel, dtype=torch.float32)
    asked = given(mechanism, real=real, dtype=torch.float32)
    clean = answers(mechanism, asked)
    for tensor in (asked.keys, asked.values):
        tensor.transpose(1, 2)[~real] = -1e37
    dirty = answers(mechanism, asked)
    for name, tensor in clean.items():
        torch.testing.assert_close(dirty[name], tensor)
