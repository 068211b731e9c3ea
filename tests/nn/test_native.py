"""Our kernels compute what torch computes, row by row the same whatever stands beside, and are missed in good order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from regard.errors import ModelError
from regard.nn import native
from regard.nn.feedforward import ACTIVATIONS
from regard.nn.native.kernels import INSTEAD, PANEL, flash
from regard.nn.native.structures import ACTIVATION_KINDS

pytestmark = pytest.mark.usefixtures("no_gradients")
few = st.integers(1, 40)
seeds = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def no_gradients() -> object:
    with torch.no_grad():
        yield


@given(rows=few, outputs=st.integers(1, 70), inputs=st.integers(1, 700), bias=st.booleans(), seed=seeds)
def test_a_product_is_a_product(rows: int, outputs: int, inputs: int, bias: bool, seed: int) -> None:
    torch.manual_seed(seed)
    x, weight = torch.randn(rows, inputs), torch.randn(outputs, inputs)
    added = torch.randn(outputs) if bias else None
    found = native.linear(x, weight, added)
    wanted = F.linear(x.double(), weight.double(), None if added is None else added.double())
    torch.testing.assert_close(found.double(), wanted, atol=2e-5 * inputs**0.5, rtol=1e-5)
    alone = torch.cat([native.linear(row, weight, added) for row in x.split(1)])
    assert torch.equal(found, alone)


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_threads_share_a_product_without_changing_it(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows, outputs, inputs in [(1, 5000, 128), (100, 300, 65), (7, 1000, 513)]:
        x, weight = torch.randn(rows, inputs), torch.randn(outputs, inputs)
        monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
        alone = native.linear(x, weight)
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        assert torch.equal(native.linear(x, weight), alone)


def test_a_view_is_read_as_it_looks() -> None:
    x, weight = torch.randn(8, 5).T, torch.randn(6, 3).T
    torch.testing.assert_close(native.linear(x[:, :6], weight), F.linear(x[:, :6], weight))


def test_weights_that_change_are_read_anew() -> None:
    x, weight = torch.randn(2, 9), torch.nn.Parameter(torch.randn(4, 9))
    before = native.linear(x, weight)
    weight.data.mul_(2)
    torch.testing.assert_close(native.linear(x, weight), before * 2)
    weight.copy_(weight + 1)
    torch.testing.assert_close(native.linear(x, weight), F.linear(x, weight))
    weight.data = torch.randn(4, 9)
    torch.testing.assert_close(native.linear(x, weight), F.linear(x, weight))


@given(rows=few, width=st.integers(1, 300), seed=seeds)
def test_norms(rows: int, width: int, seed: int) -> None:
    torch.manual_seed(seed)
    x, gain, bias = torch.randn(rows, width) * 3 + 1, torch.randn(width), torch.randn(width)
    close = {"atol": 1e-4, "rtol": 1e-4}
    found = native.norm("layer", x, gain, bias, 1e-5)
    torch.testing.assert_close(found, F.layer_norm(x, (width,), gain, bias, 1e-5), **close)
    torch.testing.assert_close(native.norm("rms", x, gain, None, 1e-6), F.rms_norm(x, (width,), gain, 1e-6), **close)
    assert torch.equal(found, torch.cat([native.norm("layer", row, gain, bias, 1e-5) for row in x.split(1)]))


def test_every_activation_is_known_and_as_torch_has_it() -> None:
    x = torch.cat([torch.linspace(-12, 12, 1001), torch.tensor([torch.nan, 0.0])])[None]
    assert ACTIVATION_KINDS.keys() == ACTIVATIONS.keys()
    for name, function in ACTIVATIONS.items():
        torch.testing.assert_close(native.activation(name, x), function(x), atol=1e-6, rtol=1e-6, equal_nan=True)
        # Torch's own gelu of infinity is NaN on processors with AVX-512, infinity on others.
        assert native.activation(name, torch.full((1, 3), torch.inf)).tolist() == [[torch.inf] * 3]


@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), few, few, st.integers(1, 70)),
    masked=st.booleans(),
    seed=seeds,
)
def test_attention(sizes: tuple[int, ...], masked: bool, seed: int) -> None:
    batch, groups, shared, queries, keys, width = sizes
    torch.manual_seed(seed)
    query = torch.randn(batch, groups * shared, queries, width)
    key, value = torch.randn(2, batch, groups, keys, width).unbind()
    real = torch.rand(batch, 1, 1, keys) < 0.7
    bias = torch.zeros(real.shape).masked_fill(~real, -torch.inf) if masked else None
    found, lse = native.attention(query, key, value, bias, False, 0.3)
    wanted, wanted_lse = flash(query, key, value, 0.0, False, attn_mask=bias, scale=0.3)
    dead = ~real[:, 0, 0].any(-1) if masked else torch.zeros(batch, dtype=torch.bool)
    assert bool((found[dead] == 0).all())
    torch.testing.assert_close(found[~dead], wanted[~dead], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(lse[~dead], wanted_lse[~dead], atol=1e-5, rtol=1e-5)


def test_attention_that_looks_back_only() -> None:
    query, key, value = torch.randn(3, 2, 4, 9, 16).unbind()
    found = native.attention(query, key, value, None, True, 0.25)[0]
    torch.testing.assert_close(found, flash(query, key, value, 0.0, True, scale=0.25)[0], atol=1e-5, rtol=1e-5)


def test_padding_changes_no_bit_of_attention() -> None:
    query, key, value = torch.randn(1, 2, 3, 24), torch.randn(1, 2, 11, 24), torch.randn(1, 2, 11, 24)
    padded = [torch.cat([each, torch.randn(1, 2, 9, 24)], 2) for each in (key, value)]
    bias = torch.zeros(1, 1, 1, 20)
    bias[..., 11:] = -torch.inf
    alone = native.attention(query, key, value, None, False, 0.2)[0]
    assert torch.equal(native.attention(query, *padded, bias, False, 0.2)[0], alone)


@given(rows=few, width=st.integers(3, 400), count=st.integers(1, 20), seed=seeds)
def test_the_highest(rows: int, width: int, count: int, seed: int) -> None:
    torch.manual_seed(seed)
    scores, count = torch.randn(rows, width).round(decimals=2), min(count, width - 1)
    values, places, broken = native.top(scores, count)
    assert torch.equal(values, scores.topk(count).values)
    assert torch.equal(scores.gather(1, places), values)
    assert broken == -1
    order = sorted(range(width), key=lambda place: (-float(scores[0, place]), place))
    assert places[0].tolist() == order[:count]


def test_a_number_that_is_none_is_told() -> None:
    scores = torch.randn(4, 50)
    scores[2, 49] = torch.nan
    assert native.top(scores, 3)[2] == 2


@given(rows=few, width=st.integers(1, 300), seed=seeds)
def test_log_probabilities(rows: int, width: int, seed: int) -> None:
    torch.manual_seed(seed)
    logits = torch.randn(rows, width) * 10
    torch.testing.assert_close(native.log_softmax(logits), logits.log_softmax(-1), atol=1e-5, rtol=1e-5)


def test_nan_stays_nan() -> None:
    x, weight = torch.randn(3, 20), torch.randn(PANEL + 1, 20)
    x[1, 3] = torch.nan
    rows = torch.tensor([False, True, False])
    assert torch.equal(native.linear(x, weight).isnan().all(1), rows)
    assert torch.equal(native.norm("layer", x, torch.ones(20), None, 1e-5).isnan().all(1), rows)
    assert torch.equal(native.log_softmax(x).isnan().all(1), rows)
    assert bool(native.attention(x[None, None], x[None, None], x[None, None], None, False, 1.0)[0].isnan().all())


def test_inside_the_mode_torch_is_ours_and_leaves_the_rest_alone() -> None:
    x, weight, bias = torch.randn(2, 3, 24), torch.randn(8, 24), torch.randn(8)
    with native.Natively():
        assert torch.equal(F.linear(x, weight, bias), native.linear(x, weight, bias))
        assert torch.equal(F.silu(x), native.activation("silu", x))
        assert F.linear(x.double(), weight.double()).dtype == torch.float64
        assert F.gelu(torch.empty(0)).numel() == 0
        with torch.enable_grad():
            assert F.linear(x, weight.requires_grad_()).requires_grad
    assert flash in INSTEAD


def test_what_does_not_fit_is_refused_and_not_read() -> None:
    x, weight = torch.randn(2, 24), torch.randn(8, 23)
    packed = native.packed(weight)
    with pytest.raises(ModelError, match="width 24"):
        native.projection(packed.linear(), x)
    with native.Natively(), pytest.raises(RuntimeError):
        F.linear(x, weight)
    with native.Natively(), pytest.raises(RuntimeError):
        F.layer_norm(x, (24,), torch.ones(23), torch.ones(23))
    one, other = torch.randn(1, 2, 3, 8), torch.randn(1, 2, 3, 4)
    with native.Natively(), pytest.raises(RuntimeError):
        flash(one, other, other, scale=1.0)


def told(**environment: str) -> str:
    """What the kernels say of themselves in an environment of its own."""
    command = [sys.executable, "-m", "regard.nn.native"]
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment}).stdout


def test_without_a_compiler_or_unwanted_there_are_no_kernels(tmp_path: Path) -> None:
    assert "REGARD_NATIVE=0" in told(REGARD_NATIVE="0")
    assert "no C++ compiler" in told(PATH=str(tmp_path), CXX="")
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    broken.chmod(0o755)
    assert "no such luck" in told(PATH=f"{tmp_path}:{os.environ['PATH']}", CXX="", XDG_CACHE_HOME=str(tmp_path))


def test_they_are_compiled_once_and_never_taken_from_a_folder_others_may_write_to(tmp_path: Path) -> None:
    first = told(XDG_CACHE_HOME=str(tmp_path))
    made = list((tmp_path / "regard").iterdir())
    assert [str(each) in first for each in made] == [True]
    before = made[0].stat().st_mtime_ns
    assert told(XDG_CACHE_HOME=str(tmp_path)) == first
    assert made[0].stat().st_mtime_ns == before
    (tmp_path / "regard").chmod(0o777)
    assert "Others may write" in told(XDG_CACHE_HOME=str(tmp_path))


def test_a_library_that_is_none_is_refused(tmp_path: Path) -> None:
    told(XDG_CACHE_HOME=str(tmp_path))
    (made,) = (tmp_path / "regard").iterdir()
    made.write_bytes(b"not a library")
    assert "could not be compiled or loaded" in told(XDG_CACHE_HOME=str(tmp_path))


def test_only_plain_numbers_are_served() -> None:
    plain = torch.ones(2)
    assert native.serves(plain, None)
    assert not native.serves(plain.double())
    assert not native.serves(Odd(plain))
    with torch.enable_grad():
        assert not native.serves(plain)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not native.serves(plain)


class Odd(Tensor):
    """A tensor that is more than its numbers."""


def test_they_can_be_done_without_for_a_while() -> None:
    plain = torch.ones(2)
    with native.without():
        assert not native.serves(plain)
    assert native.serves(plain)
