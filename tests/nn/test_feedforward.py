"""The position-wise network against its formula."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from regard.attention import record
from regard.errors import ConfigError
from regard.nn import ACTIVATIONS, FeedForward, FeedForwardSettings

FORMULAS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu}


def feedforward(**settings: object) -> FeedForward:
    made = FeedForward(FeedForwardSettings.read({"hidden": 12, **settings}), 8)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_()
    return made


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_plain_is_w2_f_w1_x(activation: str) -> None:
    made, x = feedforward(activation=activation), torch.randn(2, 3, 8)
    inner, outer = made.inner, made.outer
    expected = FORMULAS[activation](x @ inner.weight.T + inner.bias) @ outer.weight.T + outer.bias
    assert_close(made(x), expected)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gated_is_w2_of_f_w1_x_times_w3_x(activation: str) -> None:
    made, x = feedforward(activation=activation, gated=True, bias=False), torch.randn(2, 3, 8)
    inner, gate, outer = made.inner.weight, made.gate.weight, made.outer.weight
    assert_close(made(x), (FORMULAS[activation](x @ inner.T) * (x @ gate.T)) @ outer.T)


def test_plain_has_no_gate_and_without_bias_no_bias() -> None:
    assert sorted(name for name, _ in feedforward(bias=False).named_parameters()) == ["inner.weight", "outer.weight"]


def test_positions_do_not_see_one_another() -> None:
    made, x = feedforward(), torch.randn(1, 4, 8)
    assert_close(made(x)[:, 2:3], made(x[:, 2:3]))


def test_dropout_stands_between_the_two_matrices() -> None:
    made, x = feedforward(dropout=0.5, activation="gelu"), torch.randn(1, 50, 8)
    with record(made, "hidden") as seen:
        made.train()(x)
    inside = F.gelu(made.inner(x))
    assert_close(seen[0].tensor, inside)
    silenced = made.outer(torch.zeros(1, 1, 12))
    made.dropout = torch.nn.Dropout(1.0)
    assert_close(made(x), silenced.expand(1, 50, 8))


def test_an_unknown_activation_offers_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Unknown activation 'gellu'\. Did you mean 'gelu'\?"):
        feedforward(activation="gellu")


@pytest.mark.parametrize("settings", [{"hidden": 0}, {"dropout": 1.5}, {"dropout": -0.1}], ids=str)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        feedforward(**settings)
