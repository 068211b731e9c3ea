"""Weights in eight bits: how far they are from what they were, and that all who compute with them see the same ones."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from regard.nn import native, small
from regard.nn.embeddings import Readout

seeds = st.integers(0, 10**6)


@given(outputs=st.integers(1, 40), inputs=st.integers(1, 100), spread=st.floats(1e-3, 1e3), seed=seeds)
def test_a_weight_moves_by_half_a_step_at_most(outputs: int, inputs: int, spread: float, seed: int) -> None:
    torch.manual_seed(seed)
    weight = torch.randn(outputs, inputs) * spread
    steps, scales = small.rounded(weight)
    assert scales.shape == (outputs, -(-inputs // small.GROUP))
    far = scales.repeat_interleave(small.GROUP, 1)[:, :inputs] / 2
    back = small.restored(steps, scales)
    assert bool(((back - weight).abs() <= far * (1 + 1e-5)).all())
    assert torch.equal(small.restored(*small.rounded(back)), back)


def test_zeros_stay_zeros_and_what_is_in_steps_already_stays_as_it_is() -> None:
    assert not small.restored(*small.rounded(torch.zeros(3, 50))).any()
    steps = torch.randint(-127, 128, (4, 64))
    steps[:, ::32] = 127
    weight = steps * 0.0078125
    assert torch.equal(small.restored(*small.rounded(weight)), weight)


@pytest.mark.skipif(not native.ready(), reason="there are no kernels here")
@given(rows=st.integers(1, 20), outputs=st.integers(1, 70), inputs=st.integers(1, 700), bias=st.booleans(), seed=seeds)
@torch.no_grad()
def test_the_kernels_read_eight_bits_as_the_weights_they_stand_for(
    rows: int, outputs: int, inputs: int, bias: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    x, module = torch.randn(rows, inputs), nn.Linear(inputs, outputs, bias=bias)
    before = module.weight.clone()
    assert small.shrink(module) == before.numel()
    assert native.packed(module.weight).panels.dtype == torch.int8
    found = native.linear(x, module.weight, module.bias)
    wanted = F.linear(x.double(), module.weight.double(), None if module.bias is None else module.bias.double())
    torch.testing.assert_close(found.double(), wanted, atol=1e-6 * inputs**0.5, rtol=1e-5)
    assert torch.equal(found, torch.cat([native.linear(row, module.weight, module.bias) for row in x.split(1)]))
    with native.sharing(3):
        assert torch.equal(found, native.linear(x, module.weight, module.bias))


@pytest.mark.skipif(not native.ready(), reason="there are no kernels here")
@torch.no_grad()
def test_weights_that_change_afterwards_are_not_in_eight_bits_any_more() -> None:
    module, x = nn.Linear(40, 24), torch.randn(3, 40)
    small.shrink(module)
    module.weight.copy_(torch.randn(24, 40))
    assert native.packed(module.weight).panels.dtype == torch.float32
    torch.testing.assert_close(native.linear(x, module.weight, module.bias), F.linear(x, module.weight, module.bias))


def test_what_is_tied_is_rounded_once_and_vectors_norms_and_biases_are_let_be() -> None:
    model = nn.ModuleDict({"norm": nn.LayerNorm(8), "vectors": nn.Embedding(5, 8), "readout": Readout(8, 5, bias=True)})
    model["again"] = nn.Linear(8, 5, bias=False)
    model["again"].weight = model["readout"].weight
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    assert small.shrink(model) == 40
    moved = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved == {"readout.weight"}
