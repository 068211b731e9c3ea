"""Precision: what is refused, what learns, and that an overflow under the scaler is no broken batch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.nn.parameters import named
from regard.train import FitSettings, Learner, NotFinite, Scaler, fit, newest, save
from regard.train.precision import chosen
from tests.train import toy


def taught_by(settings: FitSettings, scaler: Scaler | None = None) -> tuple[Learner, list]:
    taught = toy.learner(dropout=0.0)
    taught.scaler = scaler
    return taught, list(fit(taught, toy.batches((0, 0)), lambda: {"loss": 0.0}, settings))


def same(first: Learner, second: Learner) -> bool:
    pairs = zip(named(first.model).values(), named(second.model).values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_float16_is_refused_on_a_cpu_before_anything_is_done() -> None:
    with pytest.raises(ConfigError, match=r"precision = 'float16' cannot be on this CPU.*use 'bfloat16'"):
        taught_by(FitSettings(updates=1, precision="float16"))


def test_what_is_chosen_on_a_cpu() -> None:
    model = torch.nn.Linear(2, 2)
    assert chosen("float32", model) is None
    assert chosen("auto", model) is None
    assert chosen("bfloat16", model) is torch.bfloat16


def test_a_device_without_autocast_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be on this META"):
        chosen("bfloat16", torch.nn.Linear(2, 2, device="meta"))


def test_bfloat16_learns_and_parameters_stay_float32() -> None:
    taught = toy.learner(dropout=0.0)
    seen = []
    taught.model[0].register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    one = [((0, 1), toy.batch((0, 0)))] * 200
    told = list(fit(taught, one, lambda: {"loss": 0.0}, FitSettings(updates=200, precision="bfloat16")))
    assert told[-1].loss < 0.6 * told[0].loss
    assert set(seen) == {torch.bfloat16}
    assert {tensor.dtype for tensor in named(taught.model).values()} == {torch.float32}


def test_evaluation_is_in_full_precision() -> None:
    taught = toy.learner(dropout=0.0)

    def evaluate() -> dict[str, float]:
        assert taught.model(torch.ones(1, 6)).dtype is torch.float32
        return {"loss": 0.0}

    settings = FitSettings(updates=2, every=1, precision="bfloat16")
    assert len(list(fit(taught, toy.batches((0, 0)), evaluate, settings))) == 2


@given(power=st.integers(0, 40), accumulate=st.integers(1, 3))
def test_scaling_by_a_power_of_two_changes_nothing(power: int, accumulate: int) -> None:
    settings = FitSettings(updates=5, accumulate=accumulate, clip=0.5)
    plain, told = taught_by(settings)
    scaled, told_scaled = taught_by(settings, Scaler(2.0**power))
    assert told_scaled == told
    assert same(plain, scaled)


def test_an_overflow_is_left_out_and_counted_and_the_scale_halved_until_it_fits() -> None:
    plain, _ = taught_by(FitSettings(updates=1))
    scaled, told = taught_by(FitSettings(updates=9), Scaler(2.0**64))
    overflowed = told[-1].progress.overflowed
    assert 0 < overflowed < 9
    assert told[-1].progress.skipped == 0
    assert scaled.scaler.scale == 2.0 ** (64 - overflowed)
    assert not same(plain, scaled)


def test_an_overflow_changes_no_parameter_and_no_average() -> None:
    taught, told = taught_by(FitSettings(updates=1, ema=0.9), Scaler(2.0**200))
    assert told[0].progress.overflowed == 1
    assert same(taught, toy.learner())
    assert taught.ema.count == 0


def poisoned():
    for position, (inputs, targets) in toy.batches((0, 0)):
        yield position, (inputs * (torch.nan if position == (0, 3) else 1.0), targets)


def test_a_broken_batch_is_no_overflow() -> None:
    taught = toy.learner()
    taught.scaler = Scaler(64.0)
    updates = fit(taught, poisoned(), lambda: {"loss": 0.0}, FitSettings(updates=5))
    with pytest.raises(NotFinite, match="Update 3"):
        list(updates)
    taught.scaler = Scaler(64.0)
    told = list(fit(taught, poisoned(), lambda: {"loss": 0.0}, FitSettings(updates=5, nonfinite="skip")))
    assert (told[-1].progress.skipped, told[-1].progress.overflowed, taught.scaler.scale) == (1, 0, 64.0)


def test_a_gradient_that_overflows_at_the_lowest_scale_is_a_broken_batch() -> None:
    taught = toy.learner(dropout=0.0)
    taught.scaler = Scaler(1.0)
    taught.model[0].weight.register_hook(lambda gradient: gradient * torch.inf)
    with pytest.raises(NotFinite, match="Update 1"):
        list(fit(taught, toy.batches((0, 0)), lambda: {"loss": 0.0}, FitSettings(updates=5)))


def test_the_scale_grows_after_long_enough_without_overflow() -> None:
    scaler = Scaler(4.0)
    for _ in range(Scaler.PATIENCE - 1):
        scaler.fitted()
    assert scaler.scale == 4.0
    scaler.fitted()
    assert (scaler.scale, scaler.clean) == (8.0, 0)


def test_the_scaler_is_in_the_checkpoint(tmp_path) -> None:
    settings = FitSettings(updates=12)
    unbroken, told = taught_by(settings, Scaler(2.0**64))
    first, made = taught_by(FitSettings(updates=5), Scaler(2.0**64))
    save(tmp_path, first.checkpoint(made[-1].progress))
    again = toy.learner(dropout=0.0)
    progress = again.restore(newest(tmp_path)[0])
    assert again.scaler == first.scaler
    rest = list(fit(again, toy.batches(progress.position), lambda: {"loss": 0.0}, settings, progress))
    assert [step.loss for step in rest] == [step.loss for step in told[5:]]
    assert again.scaler == unbroken.scaler
    assert same(again, unbroken)
