"""Compiled forward passes: used for the updates and nowhere else, under the plain names."""

import pytest
import torch

from regard.errors import ConfigError
from regard.nn.parameters import named
from regard.train import FitSettings, fit
from tests.train import toy


class Rectified(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def test_updates_are_compiled_evaluation_is_not_and_names_are_plain() -> None:
    taught, plain, seen = toy.learner(), toy.learner(), []
    whole = taught.loss

    def loss(pair):
        seen.append(taught.model._compiled_call_impl is not None)
        return whole(pair)

    def evaluate() -> dict[str, float]:
        seen.append(taught.model._compiled_call_impl is not None)
        return {"loss": 0.0}

    taught.loss = loss
    torch.manual_seed(1)
    told = list(fit(taught, toy.batches((0, 0)), evaluate, FitSettings(updates=3, every=3, compile="eager")))
    assert seen == [True, True, True, False]
    assert named(taught.model).keys() == named(plain.model).keys()
    torch.manual_seed(1)
    expected = list(fit(plain, toy.batches((0, 0)), evaluate, FitSettings(updates=3, every=3)))
    assert [step.loss for step in told] == pytest.approx([step.loss for step in expected], rel=1e-6)


def test_an_unknown_backend_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'inductor'"):
        list(fit(toy.learner(), toy.batches((0, 0)), lambda: {"loss": 0.0}, FitSettings(compile="inducter")))


def test_a_backend_that_cannot_compile_the_model_is_told_as_a_setting() -> None:
    taught = toy.learner()
    taught.model[1] = Rectified()
    settings = FitSettings(updates=1, compile="relu_compile_error_TESTING_ONLY")
    with pytest.raises(ConfigError, match=r"torch cannot compile this model.*Set compile = false"):
        list(fit(taught, toy.batches((0, 0)), lambda: {"loss": 0.0}, settings))
    assert taught.model._compiled_call_impl is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_default_backend_learns_the_same_to_rounding() -> None:
    losses = []
    for compile in (False, True):
        taught = toy.learner(dropout=0.0)
        told = list(fit(taught, toy.batches((0, 0)), lambda: {"loss": 0.0}, FitSettings(updates=9, compile=compile)))
        losses.append([step.loss for step in told])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
