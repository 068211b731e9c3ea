"""Attention as models use it: single, many-headed, grouped, pooled, in hops; static and dynamic weights."""

import pytest
import torch
from torch import Tensor

from regard.attention import (
    LOOK_AHEAD,
    SCORES,
    Attention,
    AttentionPooling,
    AttentionSettings,
    HeadsSettings,
    Hops,
    MultiHeadAttention,
    Sizes,
    padding,
    record,
)
from regard.errors import ConfigError, ModelError
from tests.attention.build import refused

B, Q, K, D = 3, 4, 5, 8
settings = AttentionSettings.of


def states(length: int, width: int = D, batch: int = B) -> Tensor:
    return torch.randn(batch, length, width, dtype=torch.float64)


# --- one head ------------------------------------------------------------------------------------------------------


def test_keys_and_values_may_be_different_tensors() -> None:
    """An LSTM's cell states as keys, its hidden states as values."""
    attention = Attention(settings(score="additive"), query=3, key=D, value=6).double()
    cells, hiddens, query = states(K), states(K, 6), states(Q, 3)
    focus = attention(query, attention.remember(cells, hiddens))
    torch.testing.assert_close(focus.output, focus.weights @ hiddens)
    assert attention.width == 6


def test_without_values_the_keys_answer() -> None:
    attention = Attention(settings(), D, D, explicit=True).double()
    keys, query = states(K), states(Q)
    focus = attention(query, attention.remember(keys))
    torch.testing.assert_close(focus.output, focus.weights @ keys)


def test_weights_are_explicit_where_they_were_asked_for() -> None:
    assert Attention(settings(), D, D)(states(Q).float(), memory_of(Attention(settings(), D, D))).weights is None
    explicit = Attention(settings(), D, D, explicit=True)
    assert explicit(states(Q).float(), memory_of(explicit)).weights.shape == (B, Q, K)


def memory_of(attention: Attention) -> object:
    return attention.remember(states(K).float())


# --- many heads ----------------------------------------------------------------------------------------------------


def by_hand(attention: MultiHeadAttention, query: Tensor, source: Tensor) -> Tensor:
    """Every head on its own, from slices of the projections."""
    width, group = attention.mechanism.sizes.key, attention.heads // attention.groups
    contexts = []
    for head in range(attention.heads):
        mine, shared = (
            slice(head * width, (head + 1) * width),
            slice(head // group * width, (head // group + 1) * width),
        )
        q, k, v = (
            attention.query(query)[..., mine],
            attention.key(source)[..., shared],
            attention.value(source)[..., shared],
        )
        q, k = (
            one if norm is None else one / (one.square().mean(-1, keepdim=True) + norm.epsilon).sqrt() * norm.weight
            for one, norm in ((q, attention.query_norm), (k, attention.key_norm))
        )
        contexts.append((q @ k.mT / width**0.5).softmax(-1) @ v)
    return attention.output(torch.cat(contexts, -1))


@pytest.mark.parametrize(("heads", "groups"), [(1, None), (2, None), (4, 4), (4, 2), (4, 1), (8, 2)])
def test_heads_are_attentions_side_by_side(heads: int, groups: int | None) -> None:
    attention = MultiHeadAttention(HeadsSettings.of(heads=heads, groups=groups), D, memory=6).double()
    query, source = states(Q), states(K, 6)
    torch.testing.assert_close(attention(query, attention.remember(source)), by_hand(attention, query, source))


@pytest.mark.parametrize(
    "chosen",
    [{"each": 3}, {"each": 16, "heads": 3, "groups": 1}, {"normed": True, "epsilon": 0.1}, {"normed": True, "each": 5}],
)
def test_heads_of_any_width_and_normed_ones_are_attentions_side_by_side(chosen: dict[str, object]) -> None:
    attention = MultiHeadAttention(HeadsSettings.of(**{"heads": 4, "groups": 2} | chosen), D, memory=6).double()
    query, source = states(Q), states(K, 6)
    with torch.no_grad():
        for norm in (attention.query_norm, attention.key_norm):
            assert (norm is not None) == bool(chosen.get("normed"))
            if norm is not None:
                norm.weight.uniform_(0.5, 2.0)
    found = attention(query, attention.remember(source))
    assert found.shape == query.shape
    torch.testing.assert_close(found, by_hand(attention, query, source))


def test_normed_heads_learn_in_half_precision_without_a_word() -> None:
    attention, source = MultiHeadAttention(HeadsSettings.of(heads=4, normed=True), D), states(K).float()
    whole = attention(source, attention.remember(source)).detach()
    with torch.autocast("cpu", torch.bfloat16):
        found = attention(source, attention.remember(source))
    found.float().sum().backward()
    torch.testing.assert_close(found.float(), whole, atol=0.05, rtol=0.05)
    for norm in (attention.query_norm, attention.key_norm):
        assert norm is not None
        assert norm.weight.grad is not None


def test_what_is_normed_does_not_grow_with_its_queries() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(heads=4, normed=True, bias=False, epsilon=1e-12), D).double()
    query, memory = states(Q), attention.remember(states(K))
    torch.testing.assert_close(attention(query, memory), attention(1000 * query, memory))


def test_sharing_groups_makes_the_projections_of_keys_and_values_small() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(heads=4, groups=1), D)
    assert attention.key.weight.shape == attention.value.weight.shape == (2, D)


def test_values_may_come_from_another_source() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(heads=2), D).double()
    keys, values = states(K), states(K)
    memory = attention.remember(keys, values=values)
    torch.testing.assert_close(memory.keys, attention.remember(keys).keys)
    torch.testing.assert_close(memory.values, attention.remember(values).values)


def test_a_single_attention_and_one_head_are_the_same_mechanism() -> None:
    single, multi = Attention(settings(), D, D), MultiHeadAttention(HeadsSettings.of(heads=1), D)
    assert single.mechanism.sizes == multi.mechanism.sizes


def test_biases_can_be_left_out() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(heads=2, bias=False), D)
    assert all(layer.bias is None for layer in (attention.query, attention.key, attention.value, attention.output))


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"heads": 3}, ["3 heads", "width of 8", "divisor"]),
        ({"heads": 0}, ["0 heads"]),
        ({"heads": 0, "each": 4}, ["0 heads"]),
        ({"heads": 2, "each": 0}, ["each = 0", "1 or more"]),
        ({"heads": 2, "normed": True, "epsilon": 0.0}, ["epsilon = 0.0", "greater than 0"]),
        ({"heads": 4, "groups": 3}, ["4 heads", "3 groups", "divisor"]),
        ({"heads": 4, "groups": 0}, ["0 groups"]),
        ({"heads": "many"}, ["heads = 'many'", "integer"]),
        ({"head": 2}, ["'head'", "'heads'"]),
    ],
)
def test_heads_that_do_not_divide_are_refused(chosen: dict[str, object], words: list[str]) -> None:
    refused(ConfigError, lambda: MultiHeadAttention(HeadsSettings.of(**chosen), D), *words)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [((0, 4, 4), ["query=0"]), ((4, 4, 4, 0), ["heads=0"]), ((4, 4, 4, 3, 2), ["3 heads", "2 groups"])],
)
def test_sizes_that_cannot_be_are_refused(sizes: tuple[int, ...], words: list[str]) -> None:
    refused(ConfigError, lambda: Sizes(*sizes), *words)


def test_tensors_of_the_wrong_width_are_refused() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(heads=2), D, memory=6).double()
    refused(ModelError, lambda: attention.remember(states(K, 7)), "width 7", "built for 6")
    refused(ModelError, lambda: attention(states(Q, 7), attention.remember(states(K, 6))), "width 7", "built for 8")
    single = Attention(settings(), D, D, value=6).double()
    refused(ModelError, lambda: single.remember(states(K, 7), states(K, 6)), "widths 7 and 6", "8 and 6")
    refused(ModelError, lambda: single(states(Q, 7), single.remember(states(K), states(K, 6))), "width 7", "width 8")


# --- pooling and hops ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", SCORES)
def test_pooling_asks_each_text_a_learned_question(score: str) -> None:
    pooling = AttentionPooling(settings(score=score), D, queries=2).double()
    texts = states(K)
    attention = pooling.attention
    expected = attention(pooling.question.expand(B, -1, -1), attention.remember(texts)).output
    assert torch.equal(pooling(texts), expected)
    pooling(texts).sum().backward()
    assert pooling.question.grad.ne(0).any() or score == "location"


def test_pooling_leaves_padding_out() -> None:
    pooling, texts = AttentionPooling(settings(score="additive"), D).double(), states(K)
    real = torch.arange(K) < torch.tensor([[2], [5], [3]])
    for example, length in enumerate((2, 5, 3)):
        alone = pooling(texts[example : example + 1, :length])
        torch.testing.assert_close(pooling(texts, real)[example], alone[0])


def test_static_weights_are_the_same_at_every_step_and_dynamic_ones_differ() -> None:
    texts, decoder = states(K), states(3)
    pooling, attention = AttentionPooling(settings(score="additive"), D).double(), dynamic()
    memory = attention.remember(texts)
    with record(pooling) as still:
        for _ in range(3):
            pooling(texts)
    with record(attention) as moving:
        for step in range(3):
            attention(decoder[:, step : step + 1], memory)
    assert torch.equal(still[0].tensor, still[1].tensor)
    assert torch.equal(still[1].tensor, still[2].tensor)
    assert not torch.allclose(moving[0].tensor, moving[1].tensor)
    assert not torch.allclose(moving[1].tensor, moving[2].tensor)


def dynamic() -> Attention:
    return Attention(settings(score="additive"), D, D).double()


def test_hops_read_the_memory_again_with_what_they_found() -> None:
    attention = Attention(settings(), D, D).double()
    hops, query = Hops(attention, D, hops=3).double(), states(Q)
    memory = attention.remember(states(K))
    expected = query
    for _ in range(3):
        expected = hops.keep(expected) + attention(expected, memory).output
    torch.testing.assert_close(hops(query, memory), expected)
    torch.testing.assert_close(
        hops(query, memory, padding(torch.tensor([K, 0, 0])))[1:],
        query[1:] @ torch.linalg.matrix_power(hops.keep.weight.mT, 3),
    )


def test_hops_that_make_no_sense_are_refused() -> None:
    refused(ConfigError, lambda: Hops(Attention(settings(), D, D), D, hops=0), "hops=0", "1 or more")
    refused(ConfigError, lambda: Hops(Attention(settings(), D, D, value=6), D), "width 6", "width 8")


def test_a_causal_mask_works_through_every_head() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(heads=4, groups=2), D).double()
    source = states(K)
    whole = attention(source, attention.remember(source), LOOK_AHEAD)
    first = attention(source[:, :2], attention.remember(source[:, :2]), LOOK_AHEAD)
    torch.testing.assert_close(whole[:, :2], first)
