"""Gated convolutions against their formula, whole and step by step."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from regard.attention import reach
from regard.errors import ConfigError
from regard.nn import Convolution, ConvolutionSettings

WIDTH = 4


def convolution(causal: bool, **settings: object) -> Convolution:
    made = Convolution(ConvolutionSettings.read({"width": WIDTH, "dropout": 0.0, **settings}), causal)
    torch.nn.init.normal_(made.convolve.bias)
    return made


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_a_layer_is_its_formula(causal: bool, kernel: int) -> None:
    made, x = convolution(causal, kernel=kernel), torch.randn(2, 6, WIDTH)
    sides = (kernel - 1, 0) if causal else (kernel // 2, kernel // 2)
    around = F.pad(x, (0, 0, *sides)).unfold(1, kernel, 1)
    both = torch.einsum("btdk,odk->bto", around, made.convolve.weight) + made.convolve.bias
    gated = both[..., :WIDTH] * torch.sigmoid(both[..., WIDTH:])
    assert_close(made(x)[0], (x + gated) * math.sqrt(0.5))


@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("stride", [1, 2])
def test_steps_of_a_causal_layer_are_the_whole(kernel: int, stride: int) -> None:
    made, x = convolution(True, kernel=kernel), torch.randn(2, 6, WIDTH)
    seen, steps = None, []
    for start in range(0, 6, stride):
        step, seen = made(x[:, start : start + stride], None, seen)
        steps.append(step)
    assert_close(torch.cat(steps, dim=1), made(x)[0])


def test_a_causal_layer_looks_back_only_and_the_other_both_ways() -> None:
    x = torch.randn(1, 7, WIDTH)
    near = lambda before, after: torch.ones(7, 7).tril(after).triu(-before).bool()  # noqa: E731
    assert torch.equal(reach(lambda given: convolution_of_seed(True)(given)[0], x), near(2, 0))
    assert torch.equal(reach(lambda given: convolution_of_seed(False)(given)[0], x), near(1, 1))


def convolution_of_seed(causal: bool) -> Convolution:
    torch.manual_seed(0)
    return convolution(causal)


def test_padding_changes_nothing_and_gets_no_gradient() -> None:
    made = convolution(False, kernel=5)
    x = torch.randn(1, 6, WIDTH, requires_grad=True)
    real = torch.arange(6)[None] < 4
    found = made(x, real)[0]
    assert_close(found[:, :4], made(x[:, :4])[0])
    found[:, :4].sum().backward()
    assert not x.grad[:, 4:].any()
    assert x.grad[:, :4].all()


@torch.no_grad()
def test_a_layer_starts_with_about_the_variance_it_was_given() -> None:
    """About: the paper takes a quarter for the mean of a squared gate, which is a third here."""
    x = torch.randn(8, 50, 64)
    for _ in range(6):
        y = Convolution(ConvolutionSettings(width=64, dropout=0.0), causal=True)(x)[0]
        assert 0.9 < float(y.var() / x.var()) < 1.5
        x = y


def test_a_kernel_without_a_middle_is_refused_both_ways() -> None:
    with pytest.raises(ConfigError, match="kernel = 4 must be odd"):
        convolution(False, kernel=4)


@pytest.mark.parametrize("settings", [{"kernel": 0}, {"width": 0}, {"layers": 0}, {"dropout": 2}], ids=str)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        convolution(True, **settings)
