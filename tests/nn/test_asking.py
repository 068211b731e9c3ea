"""All steps of a recurrent layer that asks attention, in one call, against the modules step by step."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.testing import assert_close

from regard.attention import Attention, AttentionSettings, Memory, record, replace
from regard.errors import ModelError
from regard.nn import Carry, Recurrent, RecurrentSettings, native
from regard.nn.asking import Asked, ask, can_ask
from regard.nn.native import multiplying

BATCH, SOURCE, STEPS = 4, 5, 3
REAL = torch.arange(SOURCE) < torch.tensor([5, 2, 0, 3])[:, None]
both_cells = pytest.mark.parametrize("cell", ["lstm", "gru"])


class Setting:
    """A decoder's layer, its attention and what they are given, everything random."""

    def __init__(
        self, cell: str = "lstm", dtype: torch.dtype = torch.float32, width: int = 13, padded: bool = True, **how: Any
    ) -> None:
        self.padded, layers = padded, how.pop("layers", 1)
        self.attention = Attention(AttentionSettings.of(**{"score": "additive", **how}), width, 6, 7)
        self.decoder = Recurrent(RecurrentSettings(cell=cell, width=width, layers=layers), 9 + 7)
        self.modules = nn.ModuleList([self.decoder, self.attention]).to(dtype)
        for parameter in self.modules.parameters():
            nn.init.normal_(parameter, std=0.5)
        shapes = {"embedded": (STEPS, BATCH, 9), "hidden": (BATCH, 1, width), "cells": (BATCH, 1, width)}
        shapes |= {"keys": (BATCH, SOURCE, 6), "values": (BATCH, SOURCE, 7)}
        self.given = {name: torch.randn(shape, dtype=dtype, requires_grad=True) for name, shape in shapes.items()}

    @property
    def carry(self) -> Carry:
        return Carry(self.given["hidden"], self.given["cells"] if self.decoder.settings.cell == "lstm" else None)

    @property
    def memory(self) -> Memory:
        return self.attention.remember(self.given["keys"], self.given["values"], REAL if self.padded else None)

    def at_once(self) -> Asked:
        return ask(self.decoder, self.attention, self.given["embedded"], self.carry, self.memory)

    def step_by_step(self) -> Asked:
        carry, memory, answers, states = self.carry, self.memory, [], []
        for piece in self.given["embedded"]:
            answers.append(self.attention(carry.hidden, memory).output)
            state, carry = self.decoder(torch.cat([piece[:, None], answers[-1]], -1), None, carry)
            states.append(state)
        return Asked(torch.cat(answers, 1).transpose(0, 1), torch.cat(states, 1).transpose(0, 1))

    def learned(self, found: Asked) -> dict[str, Tensor]:
        """What was found, and the gradients of everything that asks for one."""
        leaves = self.given | dict(self.modules.named_parameters())
        for leaf in leaves.values():
            leaf.grad = None
        weighed = [each * torch.linspace(-1.0, 1.0, each.numel(), dtype=each.dtype).view_as(each) for each in found]
        sum(each.sum() for each in weighed).backward()
        gradients = {name: leaf.grad.clone() for name, leaf in leaves.items() if leaf.grad is not None}
        return {"answers": found.answers.detach(), "states": found.states.detach(), **gradients}


@pytest.fixture(params=["kernels", "products", "torch"])
def computed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """By kernels where there are any, with torch's products and with ours, and by torch."""
    monkeypatch.setattr(multiplying, "faster", lambda: request.param == "products")
    monkeypatch.setattr(multiplying, "FEW", 0)
    if request.param == "torch":
        with native.without():
            yield
    else:
        yield


@both_cells
@pytest.mark.parametrize("score", ["additive", "concat"])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("width", [13, 16])
def test_answers_states_and_gradients_are_those_of_the_modules(
    computed: None, cell: str, score: str, padded: bool, width: int
) -> None:
    setting = Setting(cell, padded=padded, score=score, width=width)
    found, expected = setting.learned(setting.at_once()), setting.learned(setting.step_by_step())
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert_close(found[name], tensor, atol=1e-5, rtol=1e-5, msg=lambda said, name=name: f"{name}: {said}")


@both_cells
def test_in_double_precision_they_are_so_to_ten_digits(cell: str) -> None:
    setting = Setting(cell, torch.float64)
    found, expected = setting.learned(setting.at_once()), setting.learned(setting.step_by_step())
    for name, tensor in expected.items():
        assert_close(found[name], tensor, atol=1e-12, rtol=1e-10)


@both_cells
def test_an_empty_text_answers_with_zeros_and_gets_no_gradient(computed: None, cell: str) -> None:
    setting = Setting(cell)
    found = setting.learned(setting.at_once())
    assert not found["answers"][:, 2].any()
    for name in ("keys", "values"):
        assert torch.equal(found[name][~REAL], torch.zeros_like(found[name][~REAL]))
    assert all(tensor.isfinite().all() for tensor in found.values())


@pytest.mark.parametrize("frozen", ["weight_ih", "weight_hh", "bias_hh", "score.query", "score.energy", ""])
def test_what_is_frozen_gets_no_gradient_and_all_else_the_same(computed: None, frozen: str) -> None:
    setting = Setting()
    expected = setting.learned(setting.at_once())
    for name, parameter in setting.modules.named_parameters():
        parameter.requires_grad_(frozen not in name)
    found = setting.learned(setting.at_once())
    assert {name for name in expected if name not in found} == {
        name for name, _ in setting.modules.named_parameters() if frozen in name
    }
    for name, tensor in found.items():
        assert torch.equal(tensor, expected[name])


def test_gradients_of_two_calls_add_up(computed: None) -> None:
    setting = Setting()
    once = setting.learned(setting.at_once())
    one, other = setting.at_once(), setting.at_once()
    both = setting.learned(Asked(one.answers + other.answers, one.states + other.states))
    for name, _ in setting.modules.named_parameters():
        assert_close(both[name], 2 * once[name])


def test_backward_may_be_called_again(computed: None) -> None:
    setting = Setting()
    asked, weight = setting.at_once(), setting.decoder.blocks[0].weight_hh_l0
    first, second = (torch.autograd.grad(asked.states.sum(), weight, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_the_number_of_threads_changes_no_bit() -> None:
    setting = Setting(width=600)
    alone = setting.learned(setting.at_once())
    with native.sharing(2):
        shared = setting.learned(setting.at_once())
    assert all(torch.equal(shared[name], tensor) for name, tensor in alone.items())


def test_without_gradients_the_numbers_are_the_same(computed: None) -> None:
    setting = Setting()
    expected = setting.at_once()
    with torch.no_grad():
        found = setting.at_once()
    assert not found.states.requires_grad
    assert torch.equal(found.states, expected.states)


def test_a_second_derivative_is_refused() -> None:
    setting = Setting()
    with pytest.raises(ModelError, match="no second derivative; choose kernel 'reference'"):
        torch.autograd.grad(setting.at_once().states.sum(), setting.given["embedded"], create_graph=True)


def test_ordinary_modules_can_be_asked_at_once_and_watching_does_not_matter() -> None:
    setting = Setting()
    assert can_ask(setting.decoder, setting.attention)
    with record(setting.modules, "*"):
        assert can_ask(setting.decoder, setting.attention)


@pytest.mark.parametrize("how", [
    {"score": "general"},
    {"score": "coverage"},
    {"normalizer": "sparsemax"},
    {"normalizer": {"name": "softmax", "temperature": 2.0}},
    {"normalizer": {"name": "softmax", "learned": True}},
    {"scope": "local_p"},
    {"output": "attentional"},
    {"dropout": 0.1},
    {"kernel": "reference"},
    {"layers": 2},
    {"dtype": torch.bfloat16},
], ids=str)  # fmt: skip
def test_what_is_out_of_the_ordinary_is_left_to_the_modules(how: dict[str, Any]) -> None:
    setting = Setting(**how)
    assert not can_ask(setting.decoder, setting.attention)


def test_so_are_modules_that_somebody_has_hooked_changed_or_replaced() -> None:
    setting = Setting()
    decoder, attention = setting.decoder, setting.attention
    with replace(setting.modules, "*.states", torch.zeros_like):
        assert not can_ask(decoder, attention)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not can_ask(decoder, attention)
    for module in (decoder.blocks[0], attention.mechanism.score, attention.mechanism.weights):
        for hook in (
            module.register_forward_hook,
            module.register_forward_pre_hook,
            module.register_full_backward_hook,
        ):
            handle = hook(lambda *_: None)
            assert not can_ask(decoder, attention)
            handle.remove()
    layer = decoder.blocks[0]
    layer.forward = layer.forward
    assert not can_ask(decoder, attention)
    del layer.forward
    assert can_ask(decoder, attention)
    parametrize.register_parametrization(attention.mechanism.score, "query", nn.Identity())
    assert not can_ask(decoder, attention)
