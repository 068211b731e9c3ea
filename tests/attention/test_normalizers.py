"""From scores to weights: every normalizer against its definition, with and without a mask."""

import math

import pytest
import torch
from hypothesis import given as drawing
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import NORMALIZERS
from regard.attention.normalizers import Hard, Normalizer, Softmax, Sparsemax, TopSoftmax
from regard.attention.places import Sizes
from regard.config import make
from regard.errors import ConfigError
from tests.attention.build import Recipe, build, given, gradients_hold, part, refused

SIZES = Sizes(4, 4, 4, 2, 2)


def made(name: str, **options: object) -> Normalizer:
    return make("normalizer", NORMALIZERS, part(name, **options), SIZES).double()


def rows(*numbers: list[float]) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)[None, None]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tensor, Tensor | None]:
    torch.manual_seed(draw(st.integers(0, 2**31)))
    scores = torch.randn(2, 2, 3, draw(st.integers(1, 6)), dtype=torch.float64) * draw(
        st.sampled_from([0.1, 1.0, 30.0])
    )
    if draw(st.booleans()):
        return scores, None
    return scores, torch.rand(scores.shape) < draw(st.sampled_from([0.3, 0.8]))


@pytest.mark.parametrize("name", NORMALIZERS)
@drawing(problems())
def test_living_rows_sum_to_one_and_what_is_forbidden_is_exactly_zero(
    name: str, problem: tuple[Tensor, Tensor | None]
) -> None:
    scores, allowed = problem
    weights = made(name)(scores, allowed)
    alive = torch.ones_like(scores[..., 0]) if allowed is None else allowed.any(-1).double()
    torch.testing.assert_close(weights.sum(-1), alive)
    assert (weights >= 0).all()
    if allowed is not None:
        assert weights[~allowed].eq(0).all()


@pytest.mark.parametrize("name", NORMALIZERS)
def test_scores_may_be_as_large_as_they_like(name: str) -> None:
    normalizer = made(name)
    scores = rows([1e300, -1e300, 0.0], [1e300, 1e300, 1e300], [-1e300, -1e300, -1e299]).requires_grad_()
    weights = normalizer(
        scores, torch.tensor([[True, True, True], [False, True, True], [True, True, True]])[None, None]
    )
    weights.pow(2).sum().backward()
    assert weights.isfinite().all()
    assert scores.grad.isfinite().all()
    assert weights[0, 0, 0].tolist() == [1.0, 0.0, 0.0]
    assert weights[0, 0, 2].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_shift_of_all_scores_changes_nothing(name: str) -> None:
    scores = torch.randn(2, 2, 3, 5, dtype=torch.float64)
    torch.testing.assert_close(made(name)(scores + 3.0, None), made(name)(scores, None))


@pytest.mark.parametrize("name", NORMALIZERS)
def test_keys_that_are_forbidden_might_as_well_not_be_there(name: str) -> None:
    scores, allowed = torch.randn(1, 2, 3, 5, dtype=torch.float64), torch.tensor([True, False, True, True, False])
    found = made(name)(scores, allowed.expand(1, 1, 1, 5))
    torch.testing.assert_close(found[..., allowed], made(name)(scores[..., allowed], None))


@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_dead_row_is_zero_with_zero_gradient(name: str) -> None:
    scores = torch.randn(1, 1, 2, 3, dtype=torch.float64, requires_grad=True)
    weights = made(name)(scores, torch.tensor([[False] * 3, [True] * 3])[None, None])
    (weights * torch.randn_like(weights)).sum().backward()
    assert weights[0, 0, 0].tolist() == [0.0, 0.0, 0.0]
    assert scores.grad[0, 0, 0].tolist() == [0.0, 0.0, 0.0]


def test_softmax_is_its_formula() -> None:
    scores, temperature = rows([0.5, -1.0, 2.0]), 0.4
    normalizer = Softmax(SIZES, temperature=temperature)
    shares = [math.exp(score / temperature) for score in (0.5, -1.0, 2.0)]
    expected = rows([share / sum(shares) for share in shares])
    torch.testing.assert_close(normalizer(normalizer.sharpen(scores), None), expected)


def test_a_learned_temperature_starts_where_it_is_set_and_differs_by_head() -> None:
    fixed, learned = (made("softmax", temperature=2.5, learned=flag) for flag in (False, True))
    scores = torch.randn(1, 2, 3, 4, dtype=torch.float64)
    torch.testing.assert_close(learned.sharpen(scores), fixed.sharpen(scores))
    assert learned.sharpness.shape == (2, 1, 1)
    learned.sharpness.data[1] = math.log(10.0)
    torch.testing.assert_close(learned.sharpen(scores)[:, 1], scores[:, 1] * 10.0)
    torch.testing.assert_close(learned.sharpen(scores)[:, 0], scores[:, 0] / 2.5)


def test_top_softmax_is_the_softmax_of_the_best_and_the_earlier_of_equals_wins() -> None:
    weights = TopSoftmax(SIZES, count=2)(rows([1.0, 3.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]), None)[0, 0]
    share = math.exp(3.0) / (math.exp(3.0) + math.exp(1.0))
    torch.testing.assert_close(weights, rows([1 - share, share, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0])[0, 0])


def test_top_softmax_counts_only_keys_that_are_allowed() -> None:
    allowed = torch.tensor([[[[False, True, True, True]]]])
    assert TopSoftmax(SIZES, count=1)(rows([9.0, 1.0, 2.0, 0.0]), allowed).flatten().tolist() == [0.0, 0.0, 1.0, 0.0]


def simplex_projection(scores: Tensor) -> Tensor:
    """The nearest point of the simplex, by bisection on the threshold."""
    low, high = float(scores.min()) - 1.0, float(scores.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (scores - middle).clamp(min=0).sum() > 1 else (low, middle)
    return (scores - low).clamp(min=0)


@drawing(problems())
def test_sparsemax_is_the_nearest_point_of_the_simplex(problem: tuple[Tensor, Tensor | None]) -> None:
    scores, allowed = problem
    weights = Sparsemax(SIZES)(scores, allowed)
    allowed = torch.ones(scores.shape, dtype=torch.bool) if allowed is None else allowed
    for row, keys, found in zip(scores.flatten(0, 2), allowed.flatten(0, 2), weights.flatten(0, 2), strict=True):
        if keys.any():
            torch.testing.assert_close(found[keys], simplex_projection(row[keys]), atol=1e-9, rtol=0)


def test_sparsemax_gives_its_all_to_a_clear_winner() -> None:
    assert Sparsemax(SIZES)(rows([2.0, 0.9, -3.0]), None).flatten().tolist() == [1.0, 0.0, 0.0]


def test_hard_is_exactly_one_hot_and_the_earliest_of_equals_wins() -> None:
    allowed = torch.tensor([[[[True] * 4, [False, True, True, True], [False] * 4]]])
    weights = Hard(SIZES)(rows([1.0, 5.0, 5.0, 5.0], [9.0, 2.0, 3.0, 3.0], [1.0, 1.0, 1.0, 1.0]), allowed)
    assert weights[0, 0].tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_hard_learns_as_if_it_were_softmax() -> None:
    scores, allowed = torch.randn(2, 2, 3, 5, dtype=torch.float64), torch.rand(2, 2, 3, 5) < 0.7
    toward, gradients = torch.randn_like(scores), []
    for name in ("hard", "softmax"):
        leaf = scores.clone().requires_grad_()
        (made(name)(leaf, allowed) * toward).sum().backward()
        gradients.append(leaf.grad)
    assert torch.equal(*gradients)


@pytest.mark.parametrize(
    "normalizer",
    [
        {"name": "softmax", "temperature": 0.5, "learned": True},
        {"name": "sparsemax"},
        {"name": "top_softmax", "count": 2},
    ],
    ids=lambda normalizer: normalizer["name"],
)
def test_every_smooth_normalizer_has_the_gradient_it_claims(normalizer: dict[str, object]) -> None:
    mechanism = build(Recipe(), normalizer=normalizer, kernel="reference")
    assert gradients_hold(mechanism, given(mechanism, 2, 3, 4))


@pytest.mark.parametrize(
    ("normalizer", "words"),
    [
        ({"name": "softmax", "temperature": 0}, ["temperature=0", "above 0"]),
        ({"name": "top_softmax", "count": 0}, ["count=0", "1 or more"]),
        ({"name": "sparsmax"}, ["'sparsmax'", "'sparsemax'"]),
        ({"name": "hard", "temperature": 1.0}, ["'temperature'"]),
    ],
)
def test_settings_that_make_no_normalizer_are_refused(normalizer: dict[str, object], words: list[str]) -> None:
    refused(ConfigError, lambda: build(normalizer=normalizer), *words)
