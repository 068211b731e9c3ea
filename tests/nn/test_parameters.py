"""A model's tensors by name, and back."""

import pytest
import torch
from torch import nn

from regard.errors import DataError
from regard.nn.parameters import fill, named


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(3, 3, bias=False), nn.BatchNorm1d(3)
        self.second = self.first.weight


def test_tied_tensors_stand_once_and_buffers_are_there() -> None:
    names = set(named(Tied()))
    assert len({"first.weight", "second"} & names) == 1
    assert {"norm.running_mean", "norm.num_batches_tracked"} <= names


def test_what_is_named_fills_another_and_ties_hold() -> None:
    torch.manual_seed(1)
    model, other = Tied(), Tied()
    fill(other, named(model))
    assert torch.equal(other.second, model.first.weight)
    assert other.second is other.first.weight


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tensors: tensors.pop("norm.weight"), r"lacks norm.weight"),
        (lambda tensors: tensors.update(extra=torch.zeros(1)), r"holds extra"),
        (lambda tensors: tensors.update({"norm.weight": torch.zeros(4)}), r"norm.weight as torch.float32 \(4,\)"),
        (lambda tensors: tensors.update({"norm.weight": torch.zeros(3).half()}), r"torch.float16"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_changed(change, said: str) -> None:
    model, other = Tied(), Tied()
    before = {name: tensor.clone() for name, tensor in named(other).items()}
    tensors = dict(named(model))
    change(tensors)
    with pytest.raises(DataError, match=said):
        fill(other, tensors)
    assert all(torch.equal(before[name], tensor) for name, tensor in named(other).items())
