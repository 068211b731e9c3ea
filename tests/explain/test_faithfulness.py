"""Faithfulness figures: right orders come out best, reversed ones worst, and the bounds hold every order."""

from itertools import permutations

import numpy as np
import pytest
import torch

from regard.errors import RequestError
from regard.explain.bounds import Drops, bounds
from regard.explain.faithfulness import FaithfulnessSettings, curve, faithfulness
from regard.explain.versions import Versions
from tests.explain.known_truth import Labelled, linear, table

LOG = FaithfulnessSettings(scale="log", shares=(0.25, 0.5, 1.0))
WEIGHTS = torch.tensor([[1.0, 8.0, 2.0, 4.0]])
AXIS = np.array([1.0, 8.0, 2.0, 4.0, 0.0])


def test_figures_of_a_sum_are_those_worked_out_by_hand() -> None:
    found = faithfulness(linear(WEIGHTS), AXIS, LOG)
    assert found.given.comprehensiveness == pytest.approx((8, 12, 15), abs=1e-5)
    assert found.given.sufficiency == pytest.approx((7, 3, 0), abs=1e-5)
    assert found.given.aopc == pytest.approx((8 + 12 + 14 + 15) / 4, abs=1e-5)
    assert found.reverse.comprehensiveness == pytest.approx((1, 3, 15), abs=1e-5)
    assert found.reverse.sufficiency == pytest.approx((14, 12, 0), abs=1e-5)


def test_the_best_order_is_one_and_the_worst_is_zero() -> None:
    found = faithfulness(linear(WEIGHTS), AXIS, LOG)
    assert (found.given.normalized, found.reverse.normalized) == pytest.approx((1, 0), abs=1e-5)
    assert found.exact
    assert 0.3 < found.random.normalized < 0.7


def test_random_orders_lie_between() -> None:
    found = faithfulness(linear(WEIGHTS), AXIS, LOG)
    assert found.reverse.aopc < found.random.aopc < found.given.aopc


def test_shares_are_of_probability_where_asked() -> None:
    subject = Labelled()
    subject.model.eval()
    settings = FaithfulnessSettings(shares=(1.0,))
    found = faithfulness(subject, np.arange(6.0), settings, output=2)
    nothing = torch.tensor([[2, 3, 3, 3, 3, 3, 3, 1]])
    with torch.no_grad():
        whole, empty = (float(subject.scores(pieces)[0, 2].exp()) for pieces in (subject.pieces[None], nothing))
    assert found.given.comprehensiveness == pytest.approx((whole - empty,), abs=1e-5)


def drops_of(groups: int, seed: int = 0) -> Drops:
    return Drops(Versions(table(groups, seed=seed)[0], LOG), "log")


def test_exact_bounds_are_those_over_every_order() -> None:
    drops = drops_of(5)
    all_of = [curve(drops, np.array(order))[1:].mean() for order in permutations(range(5))]
    found = bounds(drops, 5, 1)
    assert (found.lowest, found.highest) == pytest.approx((min(all_of), max(all_of)))


def test_enough_beams_find_the_exact_bounds() -> None:
    drops = drops_of(6)
    exact, found = bounds(drops, 6, 1), bounds(drops, 0, 100)
    assert (found.lowest, found.highest) == pytest.approx((exact.lowest, exact.highest))
    assert (exact.exact, found.exact) == (True, False)


@pytest.mark.parametrize("seed", range(5))
def test_few_beams_stay_within_the_exact_bounds(seed: int) -> None:
    exact, found = bounds(drops_of(7, seed), 7, 1), bounds(drops_of(7, seed), 0, 2)
    assert exact.lowest - 1e-9 <= found.lowest < found.highest <= exact.highest + 1e-9


def test_what_was_seen_widens_what_was_searched() -> None:
    subject, _ = table(9)
    for seed in range(3):
        weights = np.random.default_rng(seed).random(10)
        found = faithfulness(subject, weights, FaithfulnessSettings(scale="log", beams=1, exact=0, randoms=20))
        assert 0 <= found.given.normalized <= 1
        assert found.lowest <= found.random.aopc <= found.highest


def test_a_model_that_reads_nothing_has_nothing_to_normalize() -> None:
    found = faithfulness(linear(torch.zeros(1, 4)), AXIS, LOG)
    assert found.given.aopc == 0
    assert found.given.normalized is None


def test_equal_weights_do_not_favour_the_front() -> None:
    firsts = {
        faithfulness(linear(WEIGHTS), np.ones(5), LOG.model_copy(update={"seed": seed})).given.aopc for seed in range(9)
    }
    assert len(firsts) > 3


def test_bounds_can_be_left_out() -> None:
    found = faithfulness(linear(WEIGHTS), AXIS, LOG, bounded=False)
    assert (found.lowest, found.highest, found.given.normalized) == (None, None, None)
    assert found.plain()["given"]["aopc"] == found.given.aopc


def test_weights_of_something_else_are_refused() -> None:
    with pytest.raises(RequestError, match=r"3 weights for an input of 5 words \(special ones counted\)"):
        faithfulness(linear(WEIGHTS), np.ones(3), LOG)


def test_an_output_that_does_not_exist_is_refused() -> None:
    with pytest.raises(RequestError, match="Output 1 does not exist"):
        faithfulness(linear(WEIGHTS), AXIS, LOG, output=1)
