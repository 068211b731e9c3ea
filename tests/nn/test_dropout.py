"""Dropout keeps the mean, drops its share, repeats with the seed, and is gone in evaluation."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.nn import Dropout


@given(st.floats(0.0, 0.95), st.integers(0, 100))
def test_the_share_and_the_mean_are_as_asked(rate: float, seed: int) -> None:
    torch.manual_seed(seed)
    kept = Dropout(rate)(torch.ones(200, 501))
    spread = (rate / (1 - rate) / kept.numel()) ** 0.5
    assert float(kept.mean()) == pytest.approx(1.0, abs=6 * spread + 1e-4)
    assert float((kept == 0).float().mean()) == pytest.approx(rate, abs=0.02)


def test_the_same_seed_drops_the_same() -> None:
    drop, values = Dropout(0.4), torch.randn(3, 7, 5)
    torch.manual_seed(1)
    first = drop(values)
    torch.manual_seed(1)
    assert torch.equal(first, drop(values))
    assert not torch.equal(first, drop(values))


def test_neighbours_that_share_a_draw_are_independent() -> None:
    zero = (Dropout(0.5)(torch.ones(100_000, 4)) == 0).double()
    between = torch.corrcoef(zero.T) - torch.eye(4)
    assert float(between.abs().max()) < 0.02


def test_gradients_pass_where_values_did() -> None:
    values = torch.ones(50, requires_grad=True)
    out = Dropout(0.3)(values)
    out.sum().backward()
    assert torch.equal(values.grad, out.detach())


def test_nothing_is_dropped_in_evaluation_or_at_rate_zero() -> None:
    values = torch.randn(4, 4)
    assert Dropout(0.5).eval()(values) is values
    assert Dropout(0.0)(values) is values


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_outside_is_refused(rate: float) -> None:
    with pytest.raises(ConfigError, match="outside 0 <= dropout < 1"):
        Dropout(rate)
