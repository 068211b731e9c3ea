"""Every way to start against its variance, and that query, key and value start as matrices of their own."""

import math

import pytest
import torch

from regard.attention import INITIALIZERS, HeadsSettings, MultiHeadAttention, linear, start, variances
from regard.attention.taps import Tap
from regard.errors import ConfigError, RequestError
from tests.attention.build import refused

INPUTS, OUTPUTS = 300, 200
VARIANCE = {
    "xavier_uniform": 2 / (INPUTS + OUTPUTS),
    "xavier_normal": 2 / (INPUTS + OUTPUTS),
    "kaiming_uniform": 2 / INPUTS,
    "small_normal": 0.02**2,
    "deepnorm": 2 / (INPUTS + OUTPUTS),
}


@pytest.mark.parametrize("name", INITIALIZERS)
@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_every_start_has_the_variance_its_rule_gives(name: str, gain: float) -> None:
    weight = linear(INPUTS, OUTPUTS, name=name, gain=gain).weight.detach()
    assert float(weight.var()) == pytest.approx(gain**2 * VARIANCE[name], rel=0.03)
    assert float(weight.mean()) == pytest.approx(0.0, abs=5 * math.sqrt(VARIANCE[name] / weight.numel()))


@pytest.mark.parametrize("name", [name for name in INITIALIZERS if name.endswith("uniform")])
def test_a_uniform_start_stays_within_its_bound(name: str) -> None:
    weight = linear(INPUTS, OUTPUTS, name=name).weight.detach()
    assert float(weight.abs().max()) <= math.sqrt(3 * VARIANCE[name]) < 1.01 * float(weight.abs().max())


def test_a_bias_starts_at_zero_or_not_at_all() -> None:
    assert linear(3, 2).bias.eq(0).all()
    assert linear(3, 2, bias=False).bias is None


def test_one_matrix_a_head_starts_like_each_matrix_alone() -> None:
    stacked = torch.empty(8, OUTPUTS, INPUTS)
    start(stacked, "xavier_normal")
    assert float(stacked.var()) == pytest.approx(VARIANCE["xavier_normal"], rel=0.03)


@pytest.mark.parametrize("name", INITIALIZERS)
def test_query_key_and_value_start_as_matrices_of_their_own(name: str) -> None:
    """Packed into one tall matrix, Xavier's rule would give them half the variance it means."""
    attention = MultiHeadAttention(HeadsSettings.of(heads=4, initial=name), 128)
    fan = {"kaiming_uniform": 2 / 128, "small_normal": 0.02**2}.get(name, 1 / 128)
    for layer in (attention.query, attention.key, attention.value, attention.output):
        assert float(layer.weight.detach().var()) == pytest.approx(fan, rel=0.05)


def test_deepnorms_gain_is_for_what_passes_through() -> None:
    attention = MultiHeadAttention(HeadsSettings.of(heads=4, initial="deepnorm", gain=0.1), 128)
    for layer, gain in ((attention.query, 1), (attention.key, 1), (attention.value, 0.1), (attention.output, 0.1)):
        assert float(layer.weight.detach().var()) == pytest.approx(gain**2 / 128, rel=0.05)


def test_starting_leaves_no_trace_in_the_graph() -> None:
    weight = torch.nn.Parameter(torch.zeros(3, 3))
    start(weight, "xavier_uniform")
    assert weight.grad_fn is None
    assert weight.is_leaf


def test_an_unknown_start_is_refused() -> None:
    refused(ConfigError, lambda: start(torch.zeros(2, 2), "xavier_unifrom"), "'xavier_unifrom'", "'xavier_uniform'")
    refused(ConfigError, lambda: MultiHeadAttention(HeadsSettings.of(heads=2, initial="zero"), 4), "'zero'")


class Doubling(torch.nn.Module):
    """Three blocks, each of which doubles what passes."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.ModuleDict({"output": Tap("BTD")}) for _ in range(3))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            states = block["output"](2 * states)
        return states


def test_the_variance_of_every_layer_is_reported() -> None:
    model, states = Doubling(), torch.randn(4, 5, 8)
    found = variances(model, lambda: model(states))
    assert list(found) == [f"blocks.{layer}.output" for layer in range(3)]
    for layer, variance in enumerate(found.values(), start=1):
        assert variance == pytest.approx(4**layer * float(states.var()), rel=1e-4)


def test_a_model_without_blocks_has_no_variances_to_report() -> None:
    refused(RequestError, lambda: variances(torch.nn.Linear(2, 2), lambda: None), "blocks")
