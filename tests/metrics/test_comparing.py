"""Paired bootstrap resampling."""

import random

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from regard.errors import ConfigError, DataError
from regard.metrics import compare, comparing, metric, score
from tests.metrics.examples import GOOD, POOR, REFERENCES


def noisy(share: float, seed: int, lines: int = 200) -> tuple[list[str], list[str]]:
    """Outputs with this share of wrong words, and their references."""
    draw = random.Random(seed)
    references = [" ".join(draw.choices("abcdefghij", k=9)) for _ in range(lines)]
    wrong = [" ".join("z" if draw.random() < share else word for word in line.split()) for line in references]
    return wrong, references


def test_a_large_difference_is_no_luck() -> None:
    result = compare(POOR * 5, GOOD * 5, REFERENCES * 5)
    assert result.first == score(POOR * 5, REFERENCES * 5)
    assert result.second == score(GOOD * 5, REFERENCES * 5)
    assert result.delta == result.second.value - result.first.value
    assert result.interval[0] < result.delta < result.interval[1]
    assert result.interval[0] > 0
    assert result.p_value < 0.01


@pytest.mark.parametrize("choice", ["bleu", "chrf", "exact", "word_error"])
def test_a_system_does_not_differ_from_itself(choice: str) -> None:
    result = compare(GOOD, GOOD, REFERENCES, choice, samples=50)
    assert (result.delta, result.interval, result.p_value) == (0, (0, 0), 1)


def test_test_sets_without_a_value_are_left_out() -> None:
    """Four of forty questions have an answer: of some test sets none has, and these say nothing."""
    references = [["yes"]] * 4 + [[""]] * 36
    said, better = (["yes", "no", "yes", "no"] + [""] * 36, ["yes"] * 4 + [""] * 36)
    half = {"name": "answer_f1", "lines": "answerable"}
    same = compare(said, list(said), references, half)
    assert (same.delta, same.interval, same.p_value) == (0, (0, 0), 1)
    assert 900 < same.samples < 1000
    other = compare(said, better, references, half)
    assert other.interval[0] <= other.delta == 50 <= other.interval[1]
    assert 0.05 < other.p_value < 1


def test_without_any_test_set_that_has_a_value_nothing_is_known() -> None:
    references = [["yes"]] + [[""]] * 200
    half = {"name": "answer_f1", "lines": "answerable"}
    found = compare(["yes"] + [""] * 200, ["no"] + [""] * 200, references, half, samples=1, seed=2)
    assert (found.samples, found.p_value) == (0, 1)
    assert str(found).endswith("p = 1: no test set drawn from this one has a value for both")


def test_equally_good_systems_seldom_seem_different() -> None:
    """Under the null hypothesis a p-value is below a tenth in about a tenth of the cases."""
    low = 0
    for seed in range(60):
        first, references = noisy(0.2, seed, lines=60)
        draw = random.Random(1000 + seed)
        second = [" ".join("z" if draw.random() < 0.2 else word for word in line.split()) for line in references]
        low += compare(first, second, references, "word_error", samples=100, seed=seed).p_value < 0.1
    assert 1 <= low <= 15


def test_the_other_way_round_the_sign_changes() -> None:
    there, back = (compare(*pair, REFERENCES, samples=100) for pair in ((POOR, GOOD), (GOOD, POOR)))
    assert there.delta == -back.delta
    assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]))
    assert there.p_value == back.p_value


def test_the_same_seed_draws_the_same_test_sets() -> None:
    one, same, other = (compare(POOR, GOOD, REFERENCES, samples=60, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one.interval != other.interval


def test_resampled_bleu_is_the_bleu_of_the_resampled_lines() -> None:
    draws = next(comparing._draws(len(GOOD), 3, seed=5)).astype(int)
    measure = metric("bleu")
    rows = [measure.statistics(outputs, [[line] for line in REFERENCES]) for outputs in (POOR, GOOD)]
    differences = comparing._differences(measure, rows[0], rows[1], 3, seed=5)
    for draw, difference in zip(draws, differences, strict=True):
        lines = np.repeat(np.arange(len(GOOD)), draw)
        poor, good = (score([system[n] for n in lines], [REFERENCES[n] for n in lines]) for system in (POOR, GOOD))
        assert difference == pytest.approx(good.value - poor.value)


def test_test_sets_are_drawn_in_parts_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "_AT_ONCE", 20)
    parts = list(comparing._draws(8, 5, seed=1))
    assert [part.shape for part in parts] == [(2, 8), (2, 8), (1, 8)]
    assert all((part.sum(axis=1) == 8).all() for part in parts)


def test_the_spread_agrees_with_sacrebleus() -> None:
    first, references = noisy(0.30, seed=1)
    second, _ = noisy(0.27, seed=1)
    result = compare(first, second, references, samples=1000)
    _, theirs = PairedTest(
        [("a", first), ("b", second)], {"BLEU": BLEU()}, [references], test_type="bs", n_samples=1000
    )()
    baseline, system = theirs["BLEU"]
    assert result.delta == pytest.approx(system.score - baseline.score)
    assert result.p_value == pytest.approx(system.p_value, abs=0.08)


def test_what_cannot_be_compared_is_explained() -> None:
    with pytest.raises(DataError, match="1 outputs but references for 8"):
        compare(GOOD, GOOD[:1], REFERENCES)
    with pytest.raises(ConfigError, match="samples = 0"):
        compare(GOOD, POOR, REFERENCES, samples=0)


def test_a_comparison_reads_as_a_sentence() -> None:
    text = str(compare(POOR, GOOD, REFERENCES, "exact", samples=20))
    assert text.startswith("exact 0.00 and 37.50: +37.50 (")
    assert text.endswith(", 20 samples")
