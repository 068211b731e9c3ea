"""Shapley values: equal to going through every order, and complete however few orders are drawn."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RequestError
from regard.explain.shapley import ShapleySettings, shapley
from tests.explain.known_truth import Labelled, linear, reads_one_word, shapley_by_hand, table


@given(st.integers(1, 5), st.integers(0, 99))
def test_exact_values_are_the_mean_over_every_order(groups: int, seed: int) -> None:
    subject, values = table(groups, outputs=2, seed=seed)
    found = shapley(subject, ShapleySettings(exact=True))
    np.testing.assert_allclose(found.weights[:, :groups], shapley_by_hand(values), atol=1e-6)
    assert found.error is None


@pytest.mark.parametrize("how", ["blank", "remove"])
def test_it_finds_the_weights_of_a_sum(how: str) -> None:
    weights = torch.randn(3, 6)
    found = shapley(linear(weights), ShapleySettings(samples=5, how=how))
    np.testing.assert_allclose(found.weights[:, :6], weights, atol=1e-5)


def test_only_the_word_that_is_read_counts() -> None:
    found = shapley(reads_one_word(4, 20), ShapleySettings(samples=5))
    np.testing.assert_allclose(found.weights[0], np.eye(21)[4] * 2, atol=1e-5)


def test_the_values_sum_to_what_the_text_adds_to_nothing() -> None:
    found = shapley(Labelled(), ShapleySettings(samples=7))
    assert found.check["efficiency"] < 1e-5


def test_a_text_of_one_word_has_one_value() -> None:
    found = shapley(linear(torch.tensor([[3.0]])), ShapleySettings())
    assert found.weights[0].tolist() == pytest.approx([3, 0])


def test_draws_come_near_the_truth() -> None:
    subject, values = table(4)
    found = shapley(subject, ShapleySettings(samples=2000))
    np.testing.assert_allclose(found.weights[:, :4], shapley_by_hand(values), atol=0.05)


def test_the_size_of_a_batch_changes_nothing() -> None:
    one, other = (shapley(table(6)[0], ShapleySettings(samples=20, tokens=tokens)) for tokens in (1, 10_000))
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-9)
    np.testing.assert_allclose(one.error, other.error, atol=1e-9)


def test_too_many_groups_for_every_subset_are_refused() -> None:
    with pytest.raises(RequestError, match=r"11 words have 11 x 2\^10 subsets .* up to 10; leave exact off"):
        shapley(linear(torch.ones(1, 11)), ShapleySettings(exact=True))
