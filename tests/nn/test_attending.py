"""Kernels for attention that is learned from: torch's numbers forward and backward, whatever the shape."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import FREE, HeadsSettings, MultiHeadAttention, look_ahead, padding, record
from regard.attention.kernels import TORCHS, How, flash_by
from regard.errors import ModelError
from regard.nn import native
from regard.nn.native.attending import KERNELS, LONGEST, attending

needed = pytest.mark.skipif(not native.ready(), reason="there is no compiler here")
SCALE = 0.3


def laid_out(batch: int, heads: int, pieces: int, width: int) -> Tensor:
    """As projections leave it."""
    return torch.randn(batch, pieces, heads, width).transpose(1, 2)


def by(flash: Any, given: tuple[Tensor, ...], probe: Tensor, bias: Tensor | None, causal: bool) -> tuple[Tensor, ...]:
    query, keys, values = given
    with torch.no_grad():
        context, lse = flash.forward(query, keys, values, bias, How(causal, SCALE))
        return context, lse, *flash.backward(probe, query, keys, values, context, lse, bias, How(causal, SCALE))


def by_torch(given: tuple[Tensor, ...], probe: Tensor, bias: Tensor | None, causal: bool) -> tuple[Tensor, ...]:
    """In double precision, and keys for every head."""
    query, keys, values = (each.double() for each in given)
    shared = query.shape[1] // keys.shape[1]
    whole = query, keys.repeat_interleave(shared, 1), values.repeat_interleave(shared, 1)
    bias = None if bias is None else bias.double()
    *rest, d_keys, d_values = by(TORCHS, whole, probe.double(), bias, causal)
    grouped = (each.unflatten(1, (-1, shared)).sum(2) for each in (d_keys, d_values))
    return *rest, *grouped


def same(found: tuple[Tensor, ...], wanted: tuple[Tensor, ...], tolerance: float) -> None:
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, atol=tolerance, rtol=1e-5)


@needed
@given(
    batch=st.integers(1, 3),
    groups=st.integers(1, 3),
    shared=st.integers(1, 2),
    queries=st.integers(1, 150),
    keys=st.integers(1, 150),
    width=st.integers(1, 40),
    masked=st.sampled_from(["no", "keys", "pairs"]),
    seed=st.integers(0, 10**6),
)
def test_they_compute_what_torch_computes(
    batch: int, groups: int, shared: int, queries: int, keys: int, width: int, masked: str, seed: int
) -> None:
    torch.manual_seed(seed)
    heads = groups * shared
    tensors = laid_out(batch, heads, queries, width), *(laid_out(batch, groups, keys, width) for _ in range(2))
    rows = (batch, 1, 1) if masked == "keys" else (batch, heads, queries)
    hidden = torch.rand(*rows, keys) < 0.5
    bias = None if masked == "no" else torch.randn(*rows, keys).masked_fill(hidden, -torch.inf)
    probe = laid_out(batch, heads, queries, width)
    for found, wanted in zip(
        by(KERNELS, tensors, probe, bias, False), by_torch(tensors, probe, bias, False), strict=True
    ):
        torch.testing.assert_close(found.double(), wanted, atol=3e-5, rtol=1e-5)


@needed
@pytest.mark.parametrize("pieces", [1, 15, 64, 65, 200])
def test_nobody_looks_ahead(pieces: int) -> None:
    tensors = laid_out(2, 4, pieces, 16), laid_out(2, 2, pieces, 16), laid_out(2, 2, pieces, 16)
    probe = laid_out(2, 4, pieces, 16)
    for found, wanted in zip(
        by(KERNELS, tensors, probe, None, True), by_torch(tensors, probe, None, True), strict=True
    ):
        torch.testing.assert_close(found.double(), wanted, atol=1e-5, rtol=1e-5)


@needed
def test_who_sees_nothing_has_zeros_and_no_gradient() -> None:
    tensors = tuple(laid_out(2, 2, 5, 8) for _ in range(3))
    bias = torch.zeros(2, 1, 5, 5)
    bias[1, :, 3] = -torch.inf
    context, lse, d_query, d_keys, _ = by(KERNELS, tensors, laid_out(2, 2, 5, 8), bias, False)
    assert not context[1, :, 3].any()
    assert not lse[1, :, 3].any()
    assert not d_query[1, :, 3].any()
    assert d_keys.isfinite().all()


@needed
def test_what_is_no_number_stays_none() -> None:
    tensors = tuple(laid_out(2, 1, 3, 8) for _ in range(3))
    tensors[0][0, 0, 1, 0] = torch.nan
    context = by(KERNELS, tensors, laid_out(2, 1, 3, 8), None, False)[0]
    assert context[0, 0, 1].isnan().all()
    assert context[1].isfinite().all()


@needed
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, probe = tuple(laid_out(9, 4, 30, 16) for _ in range(3)), laid_out(9, 4, 30, 16)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    alone = by(KERNELS, tensors, probe, None, True)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert all(map(torch.equal, by(KERNELS, tensors, probe, None, True), alone))


@needed
def test_they_serve_short_texts_in_single_precision() -> None:
    with torch.no_grad():
        short, long = laid_out(1, 2, 4, 8), laid_out(1, 2, LONGEST + 1, 8)
        assert attending(short, short, short) is KERNELS
        assert attending(long, long, long) is None
        assert attending(short.double(), short.double(), short.double()) is None
        with native.without():
            assert attending(short, short, short) is None


def learned(module: MultiHeadAttention, x: Tensor, real: Tensor, mask: Any) -> tuple[Tensor, ...]:
    x = x.detach().requires_grad_()
    out = module(x, module.remember(x, real), mask)
    return out, *torch.autograd.grad(out.square().sum(), (x, *module.parameters()))


@needed
@pytest.mark.parametrize("mask", [FREE, look_ahead()], ids=["free", "look-ahead"])
def test_in_place_of_torchs_they_change_rounding_alone_and_being_watched_no_bit(mask: Any) -> None:
    module = MultiHeadAttention(HeadsSettings(heads=4, groups=2), 32)
    x, real = torch.randn(3, 7, 32), padding(torch.tensor([7, 4, 1])).keys
    wanted = learned(module, x, real, mask)
    with flash_by(attending):
        found = learned(module, x, real, mask)
        with record(module, "*.weights") as seen:
            watched = learned(module, x, real, mask)
    assert not torch.equal(found[0], wanted[0]) or not torch.equal(found[1], wanted[1])
    for one, other in zip(found, wanted, strict=True):
        # The gradient of the keys' bias is zero but for rounding.
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
    assert all(map(torch.equal, found, watched))
    assert seen[0].check.output < 1e-5
    assert seen[0].check.row_sum < 1e-5


@needed
@pytest.mark.parametrize("pieces", [1, 7, 70])
@pytest.mark.parametrize("mask", [FREE, look_ahead()], ids=["free", "look-ahead"])
def test_they_drop_the_very_weights_that_the_formula_drops(mask: Any, pieces: int) -> None:
    module = MultiHeadAttention(HeadsSettings(heads=4, groups=2, dropout=0.4), 32).train()
    x, real = torch.randn(3, pieces, 32), padding(torch.tensor([pieces, (pieces + 1) // 2, 1])).keys
    torch.manual_seed(1)
    wanted = learned(module, x, real, mask)
    kernels = []
    with flash_by(lambda *given: kernels.append(attending(*given)) or attending(*given)):
        torch.manual_seed(1)
        found = learned(module, x, real, mask)
        torch.manual_seed(1)
        with record(module, "*.weights") as seen:
            watched = learned(module, x, real, mask)
    assert KERNELS in kernels
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
    assert all(map(torch.equal, found, watched))
    assert seen[0].check.output < 1e-5
    assert pieces == 1 or (seen[0].tensor == 0.0).any()


def test_without_them_dropping_weights_is_not_for_torchs_kernel() -> None:
    module = MultiHeadAttention(HeadsSettings(heads=2, dropout=0.4, kernel="fused"), 16).train()
    x = torch.randn(1, 3, 16)
    with pytest.raises(ModelError, match="dropout of weights"), native.without(), flash_by(attending):
        module(x, module.remember(x))


@needed
def test_a_bias_of_other_numbers_is_read_as_numbers_of_ours() -> None:
    tensors, probe = tuple(laid_out(2, 2, 5, 8) for _ in range(3)), laid_out(2, 2, 5, 8)
    bias = torch.randn(2, 1, 5, 5, dtype=torch.float64)
    same(by(KERNELS, tensors, probe, bias, False), by_torch(tensors, probe, bias, False), 3e-5)
