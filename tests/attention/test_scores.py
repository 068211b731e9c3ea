"""Every score against its formula, written out one query and one key at a time."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from regard.attention import SCORES, History
from regard.attention.places import Place, Sizes
from regard.config import make
from regard.errors import ConfigError, ModelError
from tests.attention.build import Recipe, attend, build, given, gradients_hold, part, refused

Array = NDArray[np.float64]
B, H, Q, K, E = 2, 2, 3, 4, 4


def weights_of(score: torch.nn.Module, head: int) -> dict[str, Array]:
    return {name: tensor.detach().numpy()[head] for name, tensor in score.named_parameters()}


def additive(p: dict[str, Array], q: Array, k: Array, more: Array | float = 0.0) -> float:
    return float(p["energy"][:, 0] @ np.tanh(q @ p["query"] + k @ p["key"] + p["bias"][0] + more))


def location_aware(p: dict[str, Array], q: Array, k: Array, j: int, before: Array, total: Array) -> float:
    filters, side = p["filters"], p["filters"].shape[1] // 2
    found = np.zeros(len(filters))
    for f, taps in enumerate(filters):
        for offset, tap in enumerate(taps):
            at = j + offset - side
            found[f] += tap * before[at] if 0 <= at < len(before) else 0.0
    return additive(p, q, k, found @ p["location"])


def mixed(p: dict[str, Array], q: Array, k: Array, j: int, before: Array, total: Array) -> float:
    first = {name.removeprefix("scores.0."): array for name, array in p.items()}
    gates = p["gates"][:, 0, 0]
    return gates[0] * additive(first, q, k) + gates[1] * float(q @ p["scores.1.places"][:, j])


# parameters of one head, one query, one key, the key's number, the preceding weights, the sum of all before
BY_HAND: dict[str, Callable[[dict[str, Array], Array, Array, int, Array, Array], float]] = {
    "dot": lambda p, q, k, j, before, total: float(q @ k),
    "scaled_dot": lambda p, q, k, j, before, total: float(q @ k) / np.sqrt(len(k)),
    "general": lambda p, q, k, j, before, total: float(q @ p["bilinear"] @ k),
    "cosine": lambda p, q, k, j, before, total: float(
        np.exp(p["sharpness"][0, 0]) * (q @ k) / (np.linalg.norm(q) * np.linalg.norm(k))
    ),
    "query_network": lambda p, q, k, j, before, total: float(
        np.tanh(q @ p["inner"] + p["inner_bias"][0]) @ p["outer"] @ k / np.sqrt(len(k))
    ),
    "additive": lambda p, q, k, j, before, total: additive(p, q, k),
    "concat": lambda p, q, k, j, before, total: float(
        p["energy"][:, 0] @ np.tanh(np.concatenate([q, k]) @ np.concatenate([p["query"], p["key"]]))
    ),
    "location": lambda p, q, k, j, before, total: float(q @ p["places"][:, j]),
    "location_aware": location_aware,
    "coverage": lambda p, q, k, j, before, total: additive(p, q, k, total[j] * p["filters"][0, 0] * p["location"][0]),
    "mixed": mixed,
}


def place() -> Place:
    return Place(range(Q), range(K), slice(0, Q), slice(0, K), torch.device("cpu"))


def made(name: str) -> torch.nn.Module:
    score = make("score", SCORES, part(name), Sizes(E, E, E, H, H)).double()
    for parameter in score.parameters():
        if parameter.requires_grad:
            parameter.data.add_(0.3 * torch.randn_like(parameter))
    return score


@pytest.mark.parametrize("name", SCORES)
def test_every_score_is_its_formula(name: str) -> None:
    score = made(name)
    query, key = torch.randn(B, H, Q, E).double(), torch.randn(B, H, K, E).double()
    history = History(torch.rand(B, H, Q, K).double(), torch.rand(B, H, Q, K).double())
    found = score(query, score.prepare(key), place(), history)
    for b, h, i, j in np.ndindex(B, H, Q, K):
        before, total = history.weights[b, h, i].numpy(), history.total[b, h, i].numpy()
        wanted = BY_HAND[name](weights_of(score, h), query[b, h, i].numpy(), key[b, h, j].numpy(), j, before, total)
        assert found[b, h, i, j].item() == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("name", [name for name, score in SCORES.items() if score.recurrent])
def test_a_score_that_looks_back_starts_with_nothing_behind_it(name: str) -> None:
    score = made(name)
    query, key = torch.randn(B, H, Q, E).double(), torch.randn(B, H, K, E).double()
    nothing = torch.zeros(B, H, Q, K).double()
    expected = score(query, score.prepare(key), place(), History(nothing, nothing))
    torch.testing.assert_close(score(query, score.prepare(key), place()), expected)


@pytest.mark.parametrize("name", SCORES)
def test_every_score_has_the_gradient_it_claims(name: str) -> None:
    mechanism = build(Recipe(name), kernel="reference")
    assert gradients_hold(mechanism, given(mechanism, 1, 3, 4))


@pytest.mark.parametrize("name", ["general", "query_network", "additive", "concat", "location", "mixed"])
def test_a_score_that_learns_takes_queries_and_keys_of_different_widths(name: str) -> None:
    mechanism = build(Recipe(name), query=3, key=5)
    assert attend(mechanism, given(mechanism)).context.shape == (3, 2, 5, 5)


@pytest.mark.parametrize("name", ["dot", "scaled_dot", "cosine"])
def test_a_plain_product_of_different_widths_is_refused(name: str) -> None:
    refused(ConfigError, lambda: build(Recipe(name), query=3, key=5), name, "3", "5", "general")


@pytest.mark.parametrize("name", ["additive", "concat", "location_aware", "coverage", "mixed"])
def test_keys_that_each_head_reads_its_own_way_cannot_be_shared(name: str) -> None:
    refused(ConfigError, lambda: build(Recipe(name), heads=4, groups=2), "4 heads", "2 groups")


def test_concat_has_no_bias_to_learn() -> None:
    score = made("concat")
    assert not score.bias.requires_grad
    assert score.bias.eq(0).all()


def test_the_location_score_counts_the_keys_of_a_block_from_the_texts_start() -> None:
    score = made("location")
    query = torch.randn(B, H, Q, E).double()
    whole = score(query, torch.zeros(B, H, K, E).double(), place())
    block = Place(range(Q), range(2, K), slice(0, Q), slice(2, K), torch.device("cpu"))
    torch.testing.assert_close(score(query, torch.zeros(B, H, 2, E).double(), block), whole[..., 2:])


def test_more_keys_than_the_location_score_has_places_for_are_refused() -> None:
    mechanism = build(Recipe("location"), score={"name": "location", "length": 5})
    refused(ModelError, lambda: attend(mechanism, given(mechanism, keys=6)), "5 keys", "got 6", "length")


@pytest.mark.parametrize("scores", [("dot", "location"), ("scaled_dot", {"name": "location_aware", "kernel": 3})])
def test_any_scores_can_be_mixed(scores: tuple[object, ...]) -> None:
    mechanism = build(score={"name": "mixed", "scores": scores})
    assert attend(mechanism, given(mechanism)).context.isfinite().all()
    assert mechanism.recurrent == ("location" not in scores)


@pytest.mark.parametrize(
    ("score", "words"),
    [
        ({"name": "cosine", "temperature": 0.0}, ["temperature=0.0", "above 0"]),
        ({"name": "location_aware", "kernel": 4}, ["kernel=4", "odd"]),
        ({"name": "mixed", "scores": []}, ["mixed", "at least one"]),
        ({"name": "mixed", "scores": ["dott"]}, ["'dott'", "'dot'"]),
        ({"name": "mixed", "scores": [{"hidden": 3}]}, ["{'hidden': 3}", "name"]),
        ({"name": "additive", "hiden": 3}, ["'hiden'", "'hidden'"]),
        ({"name": "additive", "hidden": "many"}, ["hidden = 'many'", "integer"]),
        ({"name": "additive", "hidden": 0}, ["hidden = 0", "greater than 0"]),
        ({"name": "query_network", "hidden": -1}, ["hidden = -1"]),
        ({"name": "location", "length": 0}, ["length = 0"]),
    ],
)
def test_settings_that_make_no_score_are_refused(score: dict[str, object], words: list[str]) -> None:
    refused(ConfigError, lambda: build(score=score), *words)
