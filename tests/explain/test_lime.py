"""LIME: right where a straight line is right, and honest about how far its draws can be off."""

import numpy as np
import pytest
import torch

from regard.explain.lime import LimeSettings, fit, kernel, lime
from regard.explain.versions import subsets
from tests.explain.known_truth import Labelled, linear, reads_one_word, table


def test_it_finds_the_weights_of_a_sum() -> None:
    weights = torch.randn(2, 6)
    found = lime(linear(weights), LimeSettings(samples=100))
    np.testing.assert_allclose(found.weights[:, :6], weights, atol=1e-4)
    assert found.check["unexplained"] < 1e-6


def test_only_the_word_that_is_read_counts() -> None:
    found = lime(reads_one_word(2, 9), LimeSettings(samples=100))
    np.testing.assert_allclose(found.weights[0], np.eye(10)[2] * 2, atol=1e-4)


def test_all_subsets_give_the_weighted_least_squares_solution() -> None:
    _, values = table(5, outputs=2)
    kept, width = subsets(5), 0.3
    counts = kernel(kept, width)
    root = np.sqrt(counts)[:, None]
    design = np.concatenate([np.ones((32, 1)), kept], axis=1)
    by_hand = np.linalg.lstsq(root * design, root * values, rcond=None)[0][1:].T
    np.testing.assert_allclose(fit(kept, values, counts, 0.0).weights, by_hand, atol=1e-9)


def test_a_large_ridge_pulls_the_weights_to_zero_and_leaves_the_intercept() -> None:
    kept = subsets(4)
    found = fit(kept, kept.sum(1, keepdims=True) + 5.0, np.ones(16), 1e6)
    np.testing.assert_allclose(found.weights, 0, atol=1e-5)


def test_the_kernel_is_one_at_the_text_and_falls_with_what_is_gone() -> None:
    found = kernel(np.array([[True] * 4, [True, True, False, False], [False] * 4]), 0.25)
    np.testing.assert_allclose(found, [1, np.exp(-((1 - np.sqrt(0.5)) ** 2) / 0.125), np.exp(-8)])


def test_a_seed_decides_and_another_draws_anew() -> None:
    one, same, other = (lime(table(6)[0], LimeSettings(samples=60, seed=seed)) for seed in (1, 1, 2))
    assert one.weights.tolist() == same.weights.tolist()
    assert one.weights.tolist() != other.weights.tolist()


def test_more_draws_make_the_interval_narrower() -> None:
    few, many = (lime(table(6)[0], LimeSettings(samples=samples)) for samples in (100, 1600))
    assert few.error is not None
    assert many.error is not None
    assert many.error.mean() == pytest.approx(few.error.mean() / 4, rel=0.25)


def test_a_real_classifier_is_explained_for_every_label() -> None:
    found = lime(Labelled(), LimeSettings(samples=60))
    assert found.weights.shape == (3, 6)
    assert found.source.startswith("words replaced by the blank piece; 60 versions, kernel width 0.25, ridge 1e-08")
