"""Random lengths and masks, empty ones among them, through every model: never NaN, forwards or backwards.

The full form: `pytest -m slow tests/faults/test_masks.py`.
"""

import random
from functools import cache

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from regard.errors import ModelError
from tests.contracts.models import CASES, SPECIAL, Batch, begun, loss
from tests.contracts.test_encoders import CASES as ENCODERS
from tests.contracts.test_encoders import PIECES, make
from tests.faults.counted import draws, tries


@cache
def model(number: int) -> nn.Module:
    return CASES[number].build()


@cache
def reader(number: int) -> nn.Module:
    return make(*ENCODERS[number].values)


def real(draw: random.Random, rows: int, width: int) -> Tensor:
    """Which pieces are real; none at all is refused by every model, in a sentence, so one is."""
    found = drawn(draw, rows, width)
    if not found.any():
        found[draw.randrange(rows), 0] = True
    return found


def drawn(draw: random.Random, rows: int, width: int) -> Tensor:
    """Texts of any length from none to all, or with holes anywhere."""
    if draw.random() < 0.7:
        return torch.arange(width) < torch.tensor([[draw.randint(0, width)] for _ in range(rows)])
    share = draw.choice((0.0, 0.2, 0.5, 0.9))
    return torch.tensor([[draw.random() < share for _ in range(width)] for _ in range(rows)])


def holes(mask: Tensor) -> bool:
    """Whether padding stands before or within a text, which what reads from the left refuses."""
    return bool((mask[:, 1:] & ~mask[:, :-1]).any())


def written(place: int, draw: random.Random, mask: Tensor) -> list[Tensor]:
    """The loss of a model that writes, and all its gradients."""
    case, module, (rows, width) = CASES[place], model(place), mask.shape
    module.train(draw.random() < 0.5).zero_grad()
    source = torch.randint(SPECIAL, case.vocabulary.source, (rows, width))
    target = torch.randint(SPECIAL, case.vocabulary.target, (rows, draw.randint(1, 6)))
    if not case.reads:
        source %= case.vocabulary.target
    total = loss(case, module, begun(case, Batch(source, mask, target))).total
    total.backward()
    return [total, *gradients(module)]


def read(place: int, draw: random.Random, mask: Tensor) -> list[Tensor]:
    """What a model that reads makes of every real piece, and all its gradients."""
    module = reader(place)
    module.train(draw.random() < 0.5).zero_grad()
    found = module(torch.randint(0, PIECES, mask.shape), mask)[mask]
    found.sum().backward()
    return [found, *gradients(module)]


def gradients(module: nn.Module) -> list[Tensor]:
    return [parameter.grad for parameter in module.parameters() if parameter.grad is not None]


@tries(200, 10_000)
def test_no_mask_and_no_length_gives_nan(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    draw = draws("masks")
    for number in range(count):
        mask = real(draw, draw.randint(1, 4), draw.randint(1, 9))
        torch.manual_seed(draw.randrange(2**31))
        reads = number % 4 == 3
        place = draw.randrange(len(ENCODERS if reads else CASES))
        name = ENCODERS[place].id if reads else str(CASES[place])
        try:
            found = (read if reads else written)(place, draw, mask)
        except ModelError:
            assert holes(mask), (number, name, mask)
            continue
        assert all(bool(tensor.isfinite().all()) for tensor in found), (number, name, mask)
