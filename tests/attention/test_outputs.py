"""What is made of the context, each against its formula."""

import pytest
import torch

from regard.attention import (
    OUTPUTS,
    Attention,
    AttentionSettings,
    HeadsSettings,
    MultiHeadAttention,
    padding,
    replace,
)
from regard.errors import ConfigError, ModelError
from tests.attention.build import refused

B, Q, K, D, W = 2, 3, 4, 5, 6


def made(output: str, **settings: object) -> Attention:
    return Attention(AttentionSettings.of(score="general", output=output, **settings), D, D, value=W).double()


def asked() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return tuple(torch.randn(B, length, width, dtype=torch.float64) for length, width in ((Q, D), (K, D), (K, W)))


def parts(attention: Attention) -> tuple[torch.Tensor, ...]:
    query, keys, values = asked()
    memory = attention.remember(keys, values)
    focus = attention(query, memory)
    scores = query @ attention.mechanism.score.bilinear[0] @ keys.mT
    return query, values, scores, scores.softmax(-1), focus.output


def test_the_sum_is_the_weighted_sum() -> None:
    _, values, _, weights, output = parts(made("sum"))
    torch.testing.assert_close(output, weights @ values)


def test_the_attentional_vector_is_luongs() -> None:
    attention = made("attentional")
    query, values, _, weights, output = parts(attention)
    combined = torch.cat([weights @ values, query], -1) @ attention.answer.combine.weight.mT
    torch.testing.assert_close(output, torch.tanh(combined))
    assert attention.width == D


def test_scored_values_know_their_scores() -> None:
    attention = made("scored")
    _, values, scores, weights, output = parts(attention)
    joint = torch.cat([attention.answer.value[0], attention.answer.score[0]]).mT
    for b in range(B):
        for i in range(Q):
            expected = torch.zeros(W, dtype=torch.float64)
            for j in range(K):
                known = torch.cat([values[b, j], scores[b, i, j][None]])
                expected = expected + weights[b, i, j] * torch.tanh(joint @ known + attention.answer.bias[0, 0])
            torch.testing.assert_close(output[b, i], expected)


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_output_has_the_width_it_says_and_a_gradient_for_all_it_learns(name: str) -> None:
    attention = made(name)
    query, keys, values = asked()
    output = attention(query, attention.remember(keys, values)).output
    assert output.shape == (B, Q, attention.width)
    output.pow(2).sum().backward()
    assert all(parameter.grad.ne(0).any() for parameter in attention.parameters())


@pytest.mark.parametrize("name", OUTPUTS)
def test_beams_share_what_every_output_reads(name: str) -> None:
    attention = made(name)
    _, keys, values = asked()
    beams = torch.randn(B * 3, Q, D, dtype=torch.float64)
    shared = attention(beams, attention.remember(keys, values)).output
    copied = attention(beams, attention.remember(*(t.repeat_interleave(3, 0) for t in (keys, values)))).output
    torch.testing.assert_close(shared, copied)


@pytest.mark.parametrize("name", OUTPUTS)
def test_padding_changes_nothing_in_any_output(name: str) -> None:
    attention = made(name)
    query, keys, values = asked()
    mask = padding(torch.tensor([2, 2]), K)
    found = attention(query, attention.remember(keys, values), mask).output
    torch.testing.assert_close(found, attention(query, attention.remember(keys[:, :2], values[:, :2])).output)


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_follows_weights_that_were_replaced(name: str) -> None:
    attention = made(name)
    query, keys, values = asked()
    memory = attention.remember(keys, values)
    with replace(attention, "*.weights", torch.zeros_like):
        found = attention(query, memory).output
    if name == "attentional":
        assert not torch.equal(found, attention(query, memory).output)
    else:
        assert found.eq(0).all()


@pytest.mark.parametrize("name", OUTPUTS)
def test_one_head_and_several_make_the_same_of_it(name: str) -> None:
    """Two heads whose projections are cut from the identity are two single attentions, side by side."""
    heads = MultiHeadAttention(HeadsSettings.of(score="general", output=name, heads=2, bias=False), 2 * D).double()
    for projection in (heads.query, heads.key, heads.value, heads.output):
        torch.nn.init.eye_(projection.weight)
    source, query = torch.randn(B, K, 2 * D, dtype=torch.float64), torch.randn(B, Q, 2 * D, dtype=torch.float64)
    found = heads(query, heads.remember(source))
    singles = []
    for head, part in enumerate((slice(0, D), slice(D, 2 * D))):
        single = Attention(AttentionSettings.of(score="general", output="scored" if name == "scored" else "sum"), D, D)
        single = single.double()
        single.mechanism.score.bilinear.data = heads.mechanism.score.bilinear.data[head : head + 1]
        if name == "scored":
            for learned in ("value", "score", "bias"):
                getattr(single.answer, learned).data = getattr(heads.answer, learned).data[head : head + 1]
        singles.append(single(query[..., part], single.remember(source[..., part])).output)
    torch.testing.assert_close(found, heads.answer.finish(torch.cat(singles, -1), query))


def test_heads_that_share_values_each_score_them_their_own_way() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(output="scored", heads=4, groups=2), 8).double()
    query, source = (torch.randn(B, length, 8, dtype=torch.float64) for length in (Q, K))
    memory, answer = attention.remember(source), attention.answer
    found = attention.mechanism(attention.query(query).unflatten(-1, (4, 2)).transpose(1, 2), memory)
    heads = []
    for head in range(4):
        from_value = memory.values[:, head // 2] @ answer.value[head] + answer.bias[head]
        from_score = found.scores[:, head, :, :, None] * answer.score[head]
        known = torch.tanh(from_value[:, None] + from_score)
        heads.append((found.weights[:, head, :, None] @ known).squeeze(2))
    torch.testing.assert_close(attention(query, memory), attention.output(torch.cat(heads, -1)))


def test_values_that_know_their_scores_come_from_one_memory() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(output="scored", heads=2), 8).double()
    shared, own = (attention.remember(torch.randn(B, K, 8, dtype=torch.float64)) for _ in range(2))
    query = torch.randn(B, 1, 8, dtype=torch.float64)
    refused(ModelError, lambda: attention.joint(query, shared, own), "Scored", "two memories")


def test_an_unknown_output_is_refused() -> None:
    refused(ConfigError, lambda: made("atentional"), "'atentional'", "'attentional'")


def test_an_output_that_reads_the_weights_refuses_a_kernel_that_has_none() -> None:
    refused(ConfigError, lambda: made("scored", kernel="fused"), "fused", "'reference'")
