"""Optimizers: what decays, what is stored, and that a stored one goes on as if it had never stopped."""

import copy
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn

from regard.errors import ConfigError, DataError
from regard.models import Vocabulary
from regard.models.build import build
from regard.train import optimizers
from regard.train.optimizers import OPTIMIZERS, OptimizerSettings


def model() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))


def update(net: nn.Module, optimizer: torch.optim.Optimizer, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    optimizer.zero_grad()
    net(torch.randn(5, 3, generator=generator)).pow(2).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_restored_optimizer_goes_on_bit_for_bit(name: str) -> None:
    net = model()
    optimizer = optimizers.build(OptimizerSettings(name=name, decay=0.01), net)
    for seed in range(3):
        update(net, optimizer, seed)
    twin = copy.deepcopy(net)
    restored = optimizers.build(OptimizerSettings(name=name, decay=0.01), twin)
    optimizers.load(restored, {name: value.clone() for name, value in optimizers.tensors(optimizer).items()})
    for seed in range(3, 6):
        update(net, optimizer, seed)
        update(twin, restored, seed)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), twin.parameters(), strict=True))


@pytest.mark.parametrize(("name", "theirs"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)])
def test_ours_moves_as_the_one_of_torch_does(name: str, theirs: type[torch.optim.Optimizer]) -> None:
    net, twin = model(), model()
    ours = optimizers.build(OptimizerSettings(name=name, decay=0.1), net)
    assert isinstance(ours, theirs)
    groups = optimizers.build(OptimizerSettings(name=name, decay=0.1), twin).param_groups
    plain = theirs(groups)
    calls: list[str] = []
    ours.register_step_post_hook(lambda *_: calls.append("stepped"))
    for seed in range(3):
        update(net, ours, seed)
        update(twin, plain, seed)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), twin.parameters(), strict=True))
    assert len(calls) == 3
    assert not any(parameter.grad is None or parameter.grad.requires_grad for parameter in net.parameters())


UPDATE = """
import sys
import torch
from regard.train import optimizers

for name in optimizers.OPTIMIZERS:
    net = torch.nn.Linear(2, 2)
    optimizer = optimizers.build(optimizers.OptimizerSettings(name=name), net)
    optimizer.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    optimizers.load(optimizer, optimizers.tensors(optimizer))
print("torch._dynamo" in sys.modules)
"""


def test_an_update_does_not_wait_for_the_compiler_of_torch_to_be_imported() -> None:
    done = subprocess.run([sys.executable, "-c", UPDATE], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_matrices_decay_and_vectors_do_not() -> None:
    net = model()
    before = copy.deepcopy(net)
    optimizer = optimizers.build(OptimizerSettings(name="adamw", rate=0.1, decay=0.5), net)
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for (name, new), old in zip(net.named_parameters(), before.parameters(), strict=True):
        assert torch.equal(new, old) == (new.dim() == 1), name


@pytest.mark.parametrize(
    ("name", "settings", "spared"),
    [
        ("recurrent", {"attention": {"score": "additive"}}, "score.bias"),
        ("transformer", {"attention": {"heads": 2, "score": "cosine"}, "width": 16}, "score.sharpness"),
    ],
)
def test_what_a_score_adds_does_not_decay_and_numbers_stay(name: str, settings: dict[str, Any], spared: str) -> None:
    net = build(name, settings, Vocabulary(20, 20))
    names = {parameter: known for known, parameter in net.named_parameters()}
    plain, decaying = (optimizers.build(OptimizerSettings(name="adamw", decay=decay), net) for decay in (0.0, 0.1))
    orders = [[names[one] for group in each.param_groups for one in group["params"]] for each in (plain, decaying)]
    assert orders[0] == orders[1]
    worn = {names[one] for group in decaying.param_groups if group["weight_decay"] for one in group["params"]}
    assert any(known.endswith(spared) for known in names.values())
    assert not any(known.endswith(spared) for known in worn)
    assert {known for known in names.values() if "norm" not in known and known.endswith("weight")} <= worn


def test_frozen_parameters_are_left_alone() -> None:
    net = model()
    net[0].requires_grad_(False)
    optimizer = optimizers.build(OptimizerSettings(), net)
    assert sum(len(group["params"]) for group in optimizer.param_groups) == 4
    net.requires_grad_(False)
    with pytest.raises(ConfigError, match="every parameter is frozen"):
        optimizers.build(OptimizerSettings(), net)


def test_the_state_of_another_model_is_refused() -> None:
    net, other = model(), nn.Linear(7, 7)
    optimizer = optimizers.build(OptimizerSettings(), net)
    update(net, optimizer, 0)
    with pytest.raises(DataError, match="belongs to another model"):
        optimizers.load(optimizers.build(OptimizerSettings(), other), optimizers.tensors(optimizer))


def test_an_unknown_optimizer_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'adamw'"):
        optimizers.build(OptimizerSettings(name="adanw"), model())
