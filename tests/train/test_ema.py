"""Averaged parameters: the formula, that evaluation sees them, and that they come and go without a trace."""

import copy

import pytest
import torch
from torch import nn

from regard.errors import DataError
from regard.nn.parameters import named
from regard.train import Ema, FitSettings, fit
from tests.train import toy


class Counting(nn.Module):
    """A tied parameter, a half-precision one, a buffer of whole numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.tied = self.first
        self.narrow = nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
        self.register_buffer("count", torch.tensor(0))


def test_the_average_is_the_formula_with_its_warm_up() -> None:
    model = nn.Linear(1, 1, bias=False).double()
    nn.init.zeros_(model.weight)
    ema, expected = Ema(model), 0.0
    for update in range(1, 60):
        nn.init.constant_(model.weight, float(update))
        ema.update(model, 0.8)
        decay = min(0.8, (1 + update) / (10 + update))
        expected = decay * expected + (1 - decay) * update
        assert float(ema.averages["weight"]) == pytest.approx(expected, rel=1e-12)


def test_narrow_parameters_are_averaged_in_float32_and_whole_numbers_copied() -> None:
    model = Counting()
    ema = Ema(model)
    model.count += 7
    ema.update(model, 0.9)
    assert ema.averages["narrow"].dtype is torch.float32
    assert ema.tensors(model)["narrow"].dtype is torch.bfloat16
    assert int(ema.averages["count"]) == 7
    assert "tied.weight" not in ema.averages


def test_inside_the_model_is_the_average_and_afterwards_itself_to_the_bit() -> None:
    taught = toy.learner()
    list(fit(taught, toy.batches((0, 0)), lambda: {"loss": 0.0}, FitSettings(updates=5, ema=0.9)))
    before = {name: tensor.clone() for name, tensor in named(taught.model).items()}
    with taught.smoothed():
        assert all(torch.equal(tensor, taught.ema.averages[name]) for name, tensor in named(taught.model).items())
        assert not torch.equal(before["0.weight"], taught.model[0].weight)
    assert all(torch.equal(before[name], tensor) for name, tensor in named(taught.model).items())
    with pytest.raises(ZeroDivisionError), taught.smoothed():
        raise ZeroDivisionError
    assert all(torch.equal(before[name], tensor) for name, tensor in named(taught.model).items())


def test_averaging_does_not_change_what_is_learned_but_what_is_evaluated() -> None:
    plain, smooth = toy.learner(dropout=0.0), toy.learner(dropout=0.0)
    settings = FitSettings(updates=20, every=10)
    told = list(fit(plain, toy.batches((0, 0)), lambda: toy.validation(plain), settings))
    averaging = settings.model_copy(update={"ema": 0.9})
    told_smooth = list(fit(smooth, toy.batches((0, 0)), lambda: toy.validation(smooth), averaging))
    assert [step.loss for step in told] == [step.loss for step in told_smooth]
    assert told[-1].scores != told_smooth[-1].scores
    alone = toy.learner()
    alone.model.load_state_dict(dict(smooth.parameters()))
    assert toy.validation(alone) == told_smooth[-1].scores


def test_turned_off_on_resume_it_is_gone_and_turned_on_it_begins() -> None:
    taught = toy.learner()
    made = list(fit(taught, toy.batches((0, 0)), lambda: {"loss": 0.0}, FitSettings(updates=5, ema=0.9)))
    stored = taught.checkpoint(made[-1].progress)
    other = toy.learner()
    progress = other.restore(copy.deepcopy(stored))
    assert other.ema.count == 5
    list(fit(other, toy.batches(progress.position), lambda: {"loss": 0.0}, FitSettings(updates=6), progress))
    assert other.ema is None
    assert "ema" not in other.checkpoint(progress).tensors


def test_the_averages_of_another_model_are_refused() -> None:
    with pytest.raises(DataError, match="another model: they do not fit bias, weight"):
        Ema.read(nn.Linear(2, 3), {"weight": torch.ones(2, 2)}, 1)
