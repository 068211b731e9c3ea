"""Pointer-generator and coverage, against sums written out."""

import math

import pytest
import torch
from torch import Tensor

from regard.attention import SCOPES, Attention, AttentionSettings, PointerGenerator, copied, coverage_penalty, record

B, T, S, V, D = 2, 3, 4, 6, 5
SOURCE = torch.tensor([[5, 1, 5, 0], [2, 2, 2, 2]])


def weights(dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.rand(B, T, S, dtype=dtype).softmax(-1)


def test_copying_adds_up_every_place_where_a_piece_stands() -> None:
    given = weights()
    found = copied(given, SOURCE, V)
    for b in range(B):
        for t in range(T):
            for piece in range(V):
                expected = sum(given[b, t, j].item() for j in range(S) if SOURCE[b, j] == piece)
                assert found[b, t, piece].item() == pytest.approx(expected)


def test_the_pointer_generator_is_its_formula() -> None:
    pointer = PointerGenerator(D).double()
    logits, about, given = torch.randn(B, T, V).double(), torch.randn(B, T, D).double(), weights()
    found = pointer(logits, given, SOURCE, about).exp()
    for b in range(B):
        for t in range(T):
            gate = 1 / (1 + math.exp(-pointer.gate(about[b, t]).item()))
            generated = logits[b, t].softmax(-1)
            for piece in range(V):
                pointed = sum(given[b, t, j].item() for j in range(S) if SOURCE[b, j] == piece)
                expected = gate * generated[piece].item() + (1 - gate) * pointed
                assert found[b, t, piece].item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_the_pointer_generator_sums_to_one(dtype: torch.dtype, size: float) -> None:
    pointer = PointerGenerator(D).to(dtype)
    logits, about = size * torch.randn(B, T, V, dtype=dtype), size * torch.randn(B, T, D, dtype=dtype)
    found = pointer(logits, weights(dtype), SOURCE, about)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(B, T, dtype=dtype))


@pytest.mark.parametrize("scope", SCOPES)
def test_any_attention_will_do(scope: str) -> None:
    """Also one whose weights sum to less than one: what it leaves is generated."""
    attention = Attention(AttentionSettings.of(scope=scope), D, D, explicit=True).double()
    memory = attention.remember(torch.randn(B, S, D).double(), real=torch.tensor([[True] * S, [False] * S]))
    about = torch.randn(B, T, D).double()
    pointer = PointerGenerator(D).double()
    found = pointer(torch.randn(B, T, V).double(), attention(about, memory).weights, SOURCE, about)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(B, T).double())


def test_where_nothing_is_attended_everything_is_generated() -> None:
    pointer, logits = PointerGenerator(D).double(), torch.randn(B, T, V).double()
    found = pointer(logits, torch.zeros(B, T, S).double(), SOURCE, torch.randn(B, T, D).double())
    torch.testing.assert_close(found, logits.log_softmax(-1))


def test_what_stands_nowhere_in_the_source_cannot_be_copied() -> None:
    pointer = PointerGenerator(D).double()
    pointer.gate.bias.data.fill_(-50.0)
    found = pointer(torch.randn(B, T, V).double(), weights(), SOURCE, torch.zeros(B, T, D).double()).detach().exp()
    assert float(found[0, :, [2, 3, 4]].max()) < 1e-15
    torch.testing.assert_close(found[1, :, 2], torch.ones(T).double())


def test_copying_has_gradients_that_are_finite_and_right() -> None:
    pointer = PointerGenerator(D).double()
    logits, about = torch.randn(B, T, V).double().requires_grad_(), torch.randn(B, T, D).double().requires_grad_()
    scores = torch.randn(B, T, S).double().requires_grad_()

    def found(logits: Tensor, scores: Tensor, about: Tensor) -> Tensor:
        return pointer(logits, scores.softmax(-1), SOURCE, about)

    assert torch.autograd.gradcheck(found, (logits, scores, about), fast_mode=True)
    zero = torch.zeros(B, T, S).double().requires_grad_()
    pointer(logits, zero, SOURCE, about).sum().backward()
    assert zero.grad.isfinite().all()


def test_coverage_counts_what_is_looked_at_twice() -> None:
    given = weights()
    expected = 0.0
    for b in range(B):
        for j in range(S):
            seen = 0.0
            for t in range(T):
                expected += min(given[b, t, j].item(), seen)
                seen += given[b, t, j].item()
    assert coverage_penalty(given).item() == pytest.approx(expected)


def test_coverage_of_a_text_read_once_is_nothing() -> None:
    assert coverage_penalty(torch.eye(4)[None]).item() == 0.0


def test_coverage_leaves_padding_out() -> None:
    given, real = weights(), torch.tensor([[True, True, False], [True, False, False]])
    expected = coverage_penalty(given[:1, :2]) + coverage_penalty(given[1:, :1])
    torch.testing.assert_close(coverage_penalty(given, real), expected)


def test_what_points_is_not_dropped_though_what_multiplies_the_values_is() -> None:
    settings = AttentionSettings.of(score="general", dropout=0.5)
    attention = Attention(settings, 8, 8, explicit=True).train()
    states, query = torch.randn(2, 6, 8), torch.randn(2, 3, 8)
    with record(attention) as seen:
        weights = attention(query, attention.remember(states)).weights
    assert seen[0].tensor.eq(0).any()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_what_is_chosen_is_as_likely_as_in_the_whole_distribution(share: float) -> None:
    pointer = PointerGenerator(D).double()
    logits, about, given = torch.randn(B, T, V).double(), torch.randn(B, T, D).double(), share * weights()
    targets = torch.randint(0, V, (B, T))
    whole, found = (pointer(logits, given, SOURCE, about), pointer.chosen(logits, given, SOURCE, about, targets))
    torch.testing.assert_close(found.log, whole.gather(-1, targets[..., None])[..., 0])
    torch.testing.assert_close(found.mean, whole.mean(-1))
    pointed = (-pointer.gate(about)).sigmoid() * copied(given, SOURCE, V)
    share_of = (pointed / whole.exp()).gather(-1, targets[..., None])[..., 0]
    torch.testing.assert_close(found.copied, share_of)


def test_what_is_chosen_has_the_gradients_of_the_whole_distribution() -> None:
    pointer = PointerGenerator(D).double()
    logits, about, scores = (torch.randn(*shape).double() for shape in ((B, T, V), (B, T, D), (B, T, S)))
    targets = torch.randint(0, V, (B, T))
    gradients = []
    for way in ("chosen", "whole"):
        leaves = [each.clone().requires_grad_() for each in (logits, about, scores)]
        given = leaves[2].softmax(-1)
        found = pointer(leaves[0], given, SOURCE, leaves[1])
        picked = found.gather(-1, targets[..., None]).sum() + 0.3 * found.mean(-1).sum()
        if way == "chosen":
            chosen = pointer.chosen(leaves[0], given, SOURCE, leaves[1], targets)
            picked = chosen.log.sum() + 0.3 * chosen.mean.sum()
        gradients.append(torch.autograd.grad(picked, leaves))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)
