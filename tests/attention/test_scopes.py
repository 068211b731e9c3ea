"""Every scope against its formula: which keys are in view, and what becomes of the weights."""

from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.attention import SCOPES, History, padding
from regard.attention.normalizers import Softmax
from regard.attention.places import Sizes
from regard.attention.scopes import Monotonic
from regard.errors import ConfigError
from tests.attention.build import Recipe, attend, build, given, gradients_hold, masked, refused


def weights_of(mechanism: torch.nn.Module, asked: object) -> Tensor:
    found = attend(mechanism, asked).weights
    assert found is not None
    return found.detach()


@pytest.mark.parametrize(
    ("scope", "before", "after"),
    [
        ({"name": "window", "before": 2, "after": 1}, 2, 1),
        ({"name": "window", "before": None, "after": 0}, 99, 0),
        ({"name": "local_m", "radius": 1}, 1, 1),
    ],
)
def test_a_band_scope_sees_its_band_and_nothing_else(scope: dict[str, object], before: int, after: int) -> None:
    mechanism = build(scope=scope, explicit=True)
    asked = given(mechanism, queries=6)
    weights, scores = weights_of(mechanism, asked), attend(mechanism, asked).scores
    for b, h, i in np.ndindex(3, 2, 6):
        seen = [j for j in range(6) if i - before <= j <= i + after]
        inside = scores[b, h, i, seen].exp()
        expected = torch.zeros(6, dtype=torch.float64)
        expected[seen] = (inside / inside.sum()).detach()
        torch.testing.assert_close(weights[b, h, i], expected)


def test_local_p_is_a_gaussian_around_the_predicted_position() -> None:
    mechanism = build(Recipe(scope="local_p"), explicit=True)
    real = torch.tensor([[True] * 4 + [False] * 2, [True] * 6, [True] * 2 + [False] * 4])
    asked = given(mechanism, real=real)
    weights, scores = weights_of(mechanism, asked).numpy(), attend(mechanism, asked).scores.detach().numpy()
    inner, outer = (getattr(mechanism.scope, name).detach().numpy() for name in ("inner", "outer"))
    for b, h, i in np.ndindex(3, 2, 5):
        q, length = asked.query[b, h, i].numpy(), int(real[b].sum())
        centre = length / (1.0 + np.exp(-np.tanh(q @ inner[h]) @ outer[h][:, 0]))
        seen = [j for j in range(length) if abs(j - centre) <= 2]
        expected = np.zeros(6)
        shares = np.exp(scores[b, h, i, seen])
        expected[seen] = shares / shares.sum() * np.exp(-((np.array(seen) - centre) ** 2) / (2 * (2 / 2) ** 2))
        np.testing.assert_allclose(weights[b, h, i], expected, atol=1e-12)


def enumerated(stop: np.ndarray) -> np.ndarray:
    """The chance of each query attending to each key, over all paths of stopping points there are.

    Query i looks at keys from where query i - 1 stopped, stops at key j with chance stop[i, j], and attends to nothing
    if it stops nowhere; after that, nothing is attended any more.
    """
    queries, keys = stop.shape
    chances = np.zeros((queries, keys))
    for path in product(range(keys + 1), repeat=queries):
        chance, start = 1.0, 0
        for i, j in enumerate(path):
            if start == keys:
                chance *= float(j == keys)
                continue
            if j < start:
                chance = 0.0
                break
            chance *= np.prod(1.0 - stop[i, start:j]) * (stop[i, j] if j < keys else 1.0)
            start = j
        for i, j in enumerate(path):
            if j < keys:
                chances[i, j] += chance
    return chances


def test_in_training_monotonic_attention_is_the_average_over_all_ways_to_stop() -> None:
    mechanism = build(Recipe(scope="monotonic"), explicit=True).train()
    asked = given(mechanism, 2, 3, 4)
    found = attend(mechanism, asked)
    energy = found.scores + mechanism.scope.offset
    for b, h in np.ndindex(2, 2):
        expected = enumerated(torch.sigmoid(energy[b, h]).detach().numpy())
        np.testing.assert_allclose(found.weights[b, h].detach().numpy(), expected, atol=1e-12)


def test_in_decoding_monotonic_attention_walks_and_stops() -> None:
    mechanism = build(Recipe(scope="monotonic"), heads=4, explicit=True)
    asked = given(mechanism, 6, 5, 6)
    found = attend(mechanism, asked)
    energy = found.scores + mechanism.scope.offset
    lost = 0
    for b, h in np.ndindex(6, 4):
        start = 0
        for i in range(5):
            stops = [j for j in range(start, 6) if energy[b, h, i, j] >= 0]
            expected = torch.zeros(6, dtype=torch.float64)
            if stops:
                expected[stops[0]] = 1.0
            lost += not stops
            start = stops[0] if stops else 6
            assert torch.equal(found.weights[b, h, i].detach(), expected)
    assert 0 < lost < 6 * 4 * 5


def test_soft_and_hard_monotonic_attention_meet_where_nothing_is_in_doubt() -> None:
    scope = Monotonic(Sizes(4, 4, 4)).double()
    scores = 200.0 * torch.randn(3, 1, 1, 5, dtype=torch.float64)
    before = torch.eye(5, dtype=torch.float64)[:3, None, None]
    history = History(before, before)
    soft, hard = (scope.train(mode).normalize(scores, None, Softmax(Sizes(4, 4, 4)), history) for mode in (True, False))
    torch.testing.assert_close(soft, hard)


def test_masked_keys_are_walked_past() -> None:
    scope = Monotonic(Sizes(4, 4, 4)).double().train()
    scores, allowed = torch.randn(1, 1, 1, 4, dtype=torch.float64), torch.tensor([[[[True, False, True, True]]]])
    found = scope.normalize(scores, allowed, Softmax(Sizes(4, 4, 4)), None)
    without = scope.normalize(scores[..., [0, 2, 3]], None, Softmax(Sizes(4, 4, 4)), None)
    torch.testing.assert_close(found[..., [0, 2, 3]], without)
    assert found[..., 1].item() == 0.0


def test_noise_pushes_monotonic_attention_apart_in_training_only() -> None:
    noisy = build(scope={"name": "monotonic", "noise": 1.0}, explicit=True)
    asked = given(noisy)
    assert torch.equal(weights_of(noisy, asked), weights_of(noisy, asked))
    noisy.train()
    assert not torch.equal(weights_of(noisy, asked), weights_of(noisy, asked))


@pytest.mark.parametrize("mask", ["free", "causal and padding", "window and pairs and padding"])
@pytest.mark.parametrize("name", SCOPES)
def test_rows_sum_to_what_their_scope_promises(name: str, mask: str) -> None:
    for training in (True, False):
        mechanism = build(Recipe(scope=name), explicit=True).train(training)
        weights = weights_of(mechanism, masked(given(mechanism), mask))
        assert (weights >= 0).all()
        sums = weights.sum(-1)
        if SCOPES[name].total == "one":
            assert ((sums - 1).abs().lt(1e-12) | sums.eq(0)).all()
        else:
            assert (sums <= 1 + 1e-12).all()


@pytest.mark.parametrize("name", SCOPES)
def test_every_scope_has_the_gradient_it_claims(name: str) -> None:
    mechanism = build(Recipe(scope=name), kernel="reference").train()
    assert gradients_hold(mechanism, given(mechanism, 2, 3, 4, padding(torch.tensor([4, 2]))))


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ({"name": "local_m", "radius": 0}, ["radius=0", "1 or more"]),
        ({"name": "local_p", "radius": -2}, ["radius=-2", "1 or more"]),
        ({"name": "window", "before": -1}, ["before=-1", "0 or more"]),
        ({"name": "local_p", "hidden": 0}, ["hidden = 0"]),
        ({"name": "windw"}, ["'windw'", "'window'"]),
        ({"name": "global", "radius": 3}, ["'radius'"]),
    ],
)
def test_settings_that_make_no_scope_are_refused(scope: dict[str, object], words: list[str]) -> None:
    refused(ConfigError, lambda: build(scope=scope), *words)
