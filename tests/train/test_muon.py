"""Muon: which parameters it moves, that it moves them as torch's own does, and what it refuses."""

import copy
from pathlib import Path

import pytest
import torch
from torch import nn

from regard.api import read
from regard.errors import ConfigError
from regard.models import Vocabulary, build
from regard.train import optimizers
from regard.train.muon import matrices, orthogonal
from regard.train.optimizers import OptimizerSettings
from tests.api.toy import recipe


def test_singular_values_come_near_one_and_singular_vectors_stay() -> None:
    for shape in ((3, 16, 16), (2, 8, 32), (2, 32, 8)):
        given = torch.randn(shape)
        turned = orthogonal(given)
        values = torch.linalg.svdvals(turned)
        assert values.max() < 1.25
        assert values.median() > 0.6
        left, _, right = torch.linalg.svd(given, full_matrices=False)
        middle = left.mT @ turned @ right.mT
        assert (middle - torch.diag_embed(middle.diagonal(dim1=1, dim2=2))).abs().max() < 1e-4


def test_a_gradient_of_zeros_moves_nothing() -> None:
    assert torch.equal(orthogonal(torch.zeros(2, 3, 4)), torch.zeros(2, 3, 4))


def test_it_moves_a_matrix_as_the_one_of_torch_does() -> None:
    net = nn.Linear(24, 12, bias=False)
    twin = copy.deepcopy(net)
    ours = optimizers.build(OptimizerSettings(name="muon", rate=0.01, decay=0.1), net)
    theirs = torch.optim.Muon(
        twin.parameters(), lr=0.01, weight_decay=0.1, momentum=0.95, nesterov=True, adjust_lr_fn="match_rms_adamw"
    )
    for _ in range(4):
        net.weight.grad = torch.randn(12, 24)
        twin.weight.grad = net.weight.grad.clone()
        ours.step(), theirs.step()
    moved = (net.weight - twin.weight).norm() / 0.01
    # Theirs rounds to bfloat16 on the way; one step is of norm 0.2 sqrt(24 x 12) = 3.4, about.
    assert moved < 0.1


def test_what_maps_states_to_states_is_turned_and_nothing_else() -> None:
    vocabulary = Vocabulary(source=20, target=20, begin=1, end=2)
    model = build("transformer", {"width": 8, "layers": 1, "attention": {"heads": 2}, "tied": "all"}, vocabulary)
    names = {name for name, parameter in model.named_parameters() if parameter in matrices(model)}
    assert {name for name in names if "embedding" in name or "readout" in name} == set()
    assert {name for name, one in model.named_parameters() if one.dim() == 2} - names == {"encoder.embedding.vectors"}

    model = build("recurrent", {"encoder": {"cell": "gru", "width": 8}, "decoder": {"width": 8}}, vocabulary)
    counts = {name: matrices(model).get(parameter) for name, parameter in model.named_parameters()}
    assert counts["encoder.layers.blocks.0.weight_ih_l0"] == 3
    assert counts["decoder.blocks.0.weight_hh_l0"] == 4
    assert counts["decoder.blocks.0.bias_hh_l0"] is None


def test_gates_are_turned_each_by_itself() -> None:
    torch.manual_seed(0)
    layer, gates = nn.GRU(6, 4), [nn.Linear(6, 4, bias=False) for _ in range(3)]
    for gate, part in zip(gates, layer.weight_ih_l0.data.chunk(3), strict=True):
        gate.weight.data.copy_(part)
    together = optimizers.build(OptimizerSettings(name="muon", rate=0.1), layer)
    apart = optimizers.build(OptimizerSettings(name="muon", rate=0.1), nn.ModuleList(gates))
    layer.weight_ih_l0.grad = torch.randn(12, 6)
    for gate, part in zip(gates, layer.weight_ih_l0.grad.chunk(3), strict=True):
        gate.weight.grad = part.clone()
    together.step(), apart.step()
    torch.testing.assert_close(layer.weight_ih_l0, torch.cat([gate.weight for gate in gates]))


def test_a_matrix_shared_with_an_embedding_is_left_to_adam() -> None:
    net = nn.ModuleDict({"embedding": nn.Embedding(5, 4), "output": nn.Linear(4, 5), "inner": nn.Linear(4, 4)})
    net["output"].weight = net["embedding"].weight
    assert set(matrices(net)) == {net["inner"].weight}


def test_frozen_matrices_stay_as_they_are() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    net[0].requires_grad_(False)
    before = net[0].weight.clone()
    optimizer = optimizers.build(OptimizerSettings(name="muon"), net)
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    assert torch.equal(net[0].weight, before)


def test_matrices_in_parts_are_refused_before_training(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", optimizer={"name": "muon"}, train={"parallel": "fsdp"})
    with pytest.raises(ConfigError, match=r"turns whole matrices.*ddp.*optimizer\.$"):
        read(plan)
