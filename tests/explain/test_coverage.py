"""95 % intervals hold the truth in 90 to 99 of 100 seeds, on subjects whose truth is known exactly."""

from collections.abc import Callable

import numpy as np
import pytest

from regard.explain import Attribution
from regard.explain.lime import LimeSettings, fit, kernel, lime
from regard.explain.permutation import PermutationSettings, permutation
from regard.explain.shapley import ShapleySettings, shapley
from regard.explain.versions import subsets
from tests.explain.known_truth import shapley_by_hand, table
from tests.explain.test_permutation import COLUMNS, ROWS, product, truth


def held(explain: Callable[[int], Attribution], wanted: np.ndarray, seeds: int = 100) -> np.ndarray:
    """In how many of 100 seeds each interval holds the truth."""
    counts = np.zeros_like(wanted)
    for seed in range(seeds):
        found = explain(seed)
        near = found.weights[:, : wanted.shape[1]] - wanted
        counts += np.abs(near) <= found.error[:, : wanted.shape[1]]
    return counts * 100 / seeds


def right(counts: np.ndarray) -> bool:
    """Each interval in 90 to 99 of 100 seeds."""
    return bool(counts.min() >= 90 and counts.max() <= 99)


def nearly_right(counts: np.ndarray) -> bool:
    """On the whole in 93 to 98, and none of many intervals far off."""
    return bool(93 <= counts.mean() <= 98 and counts.min() >= 87)


def lime_truth(values: np.ndarray, groups: int, width: float, ridge: float) -> np.ndarray:
    """The fit to all subsets, each as likely as the others."""
    return fit(subsets(groups), values, kernel(subsets(groups), width), ridge).weights


@pytest.mark.parametrize("ridge", [1e-8, 0.02])
def test_intervals_of_lime_hold_the_truth(ridge: float) -> None:
    subject, values = table(6)
    wanted = lime_truth(values, 6, 0.25, ridge)
    assert right(held(lambda seed: lime(subject, LimeSettings(samples=150, seed=seed, ridge=ridge)), wanted))


def test_intervals_of_shapley_sampling_hold_the_truth() -> None:
    subject, values = table(5)
    wanted = shapley_by_hand(values)
    assert right(held(lambda seed: shapley(subject, ShapleySettings(samples=30, seed=seed)), wanted))


def test_intervals_of_permutation_importance_hold_the_truth() -> None:
    wanted = np.array([[truth("a"), truth("b")]])
    columns = {name: COLUMNS[name] for name in ("a", "b")}
    settings = [PermutationSettings(samples=12, seed=seed) for seed in range(100)]
    assert right(held(lambda seed: permutation(ROWS, product, columns, settings[seed]), wanted))


def test_an_interval_that_is_too_narrow_would_be_seen() -> None:
    subject, values = table(5)
    wanted = shapley_by_hand(values)

    def boastful(seed: int) -> Attribution:
        found = shapley(subject, ShapleySettings(samples=30, seed=seed))
        return Attribution("", found.outputs, found.inputs, found.weights, error=found.error / 2)

    assert not right(held(boastful, wanted))


@pytest.mark.slow
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("samples", [60, 400])
def test_intervals_hold_the_truth_for_other_subjects_and_numbers_of_draws(which: int, samples: int) -> None:
    subject, values = table(7, outputs=3, seed=which + 1)
    wanted = lime_truth(values, 7, 0.25, 1e-8)
    assert nearly_right(held(lambda seed: lime(subject, LimeSettings(samples=samples, seed=seed)), wanted, 400))
    pairs = samples // 4
    wanted = shapley_by_hand(values)
    assert nearly_right(held(lambda seed: shapley(subject, ShapleySettings(samples=pairs, seed=seed)), wanted, 400))
