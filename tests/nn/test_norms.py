"""Norms against torch, and the comparison that explains why layer norm won on ragged text."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.config import make
from regard.errors import ConfigError
from regard.nn import NORMS, BatchNorm, LayerNorm, NoNorm, RMSNorm

WIDTH = 6


def randomized(norm: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.normal_(1.0, 0.5)
    return norm


@pytest.fixture
def x() -> Tensor:
    return 3 * torch.randn(2, 5, WIDTH) + 1


@pytest.fixture
def real() -> Tensor:
    return torch.tensor([[True] * 5, [True] * 2 + [False] * 3])


def test_layer_norm_is_torchs_and_its_formula(x: Tensor) -> None:
    ours, theirs = randomized(LayerNorm(WIDTH, epsilon=1e-3)), nn.LayerNorm(WIDTH, eps=1e-3)
    theirs.load_state_dict(ours.state_dict())
    assert_close(ours(x), theirs(x))
    centred = x - x.mean(-1, keepdim=True)
    by_hand = centred / (centred.square().mean(-1, keepdim=True) + 1e-3).sqrt() * ours.weight + ours.bias
    assert_close(ours(x), by_hand)


def test_layer_norm_can_do_without_a_bias(x: Tensor) -> None:
    assert LayerNorm(WIDTH, bias=False).bias is None
    assert_close(LayerNorm(WIDTH, bias=False)(x), LayerNorm(WIDTH)(x))


def test_rms_norm_is_torchs_and_its_formula(x: Tensor) -> None:
    ours, theirs = randomized(RMSNorm(WIDTH, epsilon=1e-3)), nn.RMSNorm(WIDTH, eps=1e-3)
    theirs.load_state_dict(ours.state_dict())
    assert_close(ours(x), theirs(x))
    assert_close(ours(x), x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * ours.weight)


def test_no_norm_changes_nothing(x: Tensor) -> None:
    assert NoNorm(WIDTH)(x) is x


def test_batch_norm_is_torchs_over_the_real_positions(x: Tensor, real: Tensor) -> None:
    ours, theirs = BatchNorm(WIDTH), nn.BatchNorm1d(WIDTH)
    randomized(theirs)
    ours.inner.load_state_dict(theirs.state_dict())
    for mode in (True, False):
        ours.train(mode), theirs.train(mode)
        assert_close(ours(x, real)[real], theirs(x[real]))
        assert_close(ours(x), theirs(x.flatten(0, 1)).view_as(x))
        assert_close(ours.inner.running_var, theirs.running_var)


def test_a_batch_of_one_piece_is_normed_with_what_others_had_and_leaves_that_as_it_was(x: Tensor) -> None:
    norm = BatchNorm(WIDTH).train()
    randomized(norm.inner)
    norm(x)
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    alone = x[:1, :1].requires_grad_()
    found = norm(alone, torch.ones(1, 1, dtype=torch.bool))
    found.sum().backward()
    assert_close(found, norm.eval()(alone))
    assert alone.grad is not None
    assert alone.grad.isfinite().all()
    assert all(torch.equal(value, before[name]) for name, value in norm.state_dict().items())


def test_batch_norm_leaves_padding_out_of_its_statistics(x: Tensor, real: Tensor) -> None:
    garbage = torch.where(real[..., None], x, torch.tensor(1e6))
    first, second = BatchNorm(WIDTH), BatchNorm(WIDTH)
    assert torch.equal(first(x, real), second(garbage, real))
    assert torch.equal(first.inner.running_mean, second.inner.running_mean)
    assert torch.equal(first(x, real)[~real], torch.zeros(3, WIDTH))


def test_in_training_batch_norm_lets_a_text_know_its_neighbours_and_layer_norm_does_not(x: Tensor) -> None:
    """The same text beside two different neighbours: the comparison that explains why layer norm won."""
    beside = torch.cat([x[:1], 5 * torch.randn(1, 5, WIDTH)])
    for name in ("layer", "rms", "none"):
        norm = make("norm", NORMS, name, WIDTH).train()
        assert torch.equal(norm(x)[0], norm(beside)[0])
    assert not torch.allclose(BatchNorm(WIDTH)(x)[0], BatchNorm(WIDTH)(beside)[0], atol=0.1)


def test_in_training_batch_norm_lets_a_text_know_its_neighbours_lengths(x: Tensor, real: Tensor) -> None:
    shorter = real & (torch.arange(5) < torch.tensor([5, 1])[:, None])
    assert torch.equal(LayerNorm(WIDTH)(x, real)[0], LayerNorm(WIDTH)(x, shorter)[0])
    assert not torch.allclose(BatchNorm(WIDTH)(x, real)[0], BatchNorm(WIDTH)(x, shorter)[0], atol=1e-3)


def test_in_evaluation_batch_norm_forgets_its_neighbours_too(x: Tensor, real: Tensor) -> None:
    norm = BatchNorm(WIDTH)
    norm(x, real)
    norm.eval()
    assert_close(norm(x, real)[0], norm(x[:1])[0])


def test_settings_reach_the_norm_by_name(x: Tensor) -> None:
    norm = make("norm", NORMS, {"name": "layer", "epsilon": 0.5}, WIDTH)
    assert_close(norm(x), nn.functional.layer_norm(x, (WIDTH,), eps=0.5))


def test_an_unknown_norm_offers_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Unknown norm 'layr'\. Did you mean 'layer'\?"):
        make("norm", NORMS, "layr", WIDTH)
