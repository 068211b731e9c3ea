"""Perplexity and its kin."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError, DataError
from regard.metrics import METRICS, Likelihood, metric, score, score_likelihood, score_lines

NAMES = [name for name, kind in METRICS.items() if kind.of == "likelihood"]
counts = st.integers(1, 50)
lines = st.builds(Likelihood, st.floats(0, 500), counts, counts, counts)
corpora = st.lists(lines, min_size=1, max_size=6)


@given(corpora)
def test_every_unit_weighs_the_same(told: list[Likelihood]) -> None:
    nll = math.fsum(line.nll for line in told)
    pieces, words, characters = (
        sum(getattr(line, unit) for line in told) for unit in ("pieces", "words", "characters")
    )
    assert score_likelihood(told, "perplexity").value == pytest.approx(math.exp(nll / pieces))
    assert score_likelihood(told, "word_perplexity").value == pytest.approx(math.exp(nll / words))
    assert score_likelihood(told, "nats_per_character").value == pytest.approx(nll / characters)
    assert score_likelihood(told, "bits_per_character").value == pytest.approx(nll / characters / math.log(2))


def test_a_model_that_knows_nothing_is_as_perplexed_as_it_has_choices() -> None:
    told = [Likelihood(n * math.log(7), n, n, n) for n in (1, 5, 30)]
    assert score_likelihood(told, "perplexity").value == pytest.approx(7)
    assert score_likelihood([Likelihood(8 * math.log(2), 1, 1, 8)], "bits_per_character").value == pytest.approx(1)


def test_perplexity_is_what_is_meant_unless_said() -> None:
    assert score_likelihood([Likelihood(1.0, 1, 1, 1)]).name == "perplexity"


@pytest.mark.parametrize("name", NAMES)
@given(told=corpora)
def test_sums_of_lines_decide(name: str, told: list[Likelihood]) -> None:
    measure = metric(name)
    rows = measure.statistics(told, [])
    alone = [measure.statistics([line], [])[0] for line in told]
    assert np.array_equal(rows, np.array(alone))
    assert measure.value(rows.sum(axis=0)) == score_likelihood(told, measure).value


@pytest.mark.parametrize("name", NAMES)
def test_less_likely_is_worse(name: str) -> None:
    likely, unlikely = (score_likelihood([Likelihood(nll, 3, 2, 9)], name) for nll in (1.0, 2.0))
    assert likely.value < unlikely.value
    assert not likely.higher_is_better


@pytest.mark.parametrize("name", ["perplexity", "word_perplexity"])
def test_what_is_too_large_for_a_number_is_infinite(name: str) -> None:
    assert score_likelihood([Likelihood(1e6, 1, 1, 1)], name).value == math.inf
    assert score_likelihood([Likelihood(math.inf, 1, 1, 1)], name).value == math.inf


@pytest.mark.parametrize(("name", "nothing"), [("perplexity", 1), ("nats_per_character", 0)])
def test_lines_without_units_cost_nothing_or_everything(name: str, nothing: float) -> None:
    assert score_likelihood([Likelihood(0.0, 0, 0, 0)], name).value == nothing
    assert score_likelihood([Likelihood(1.0, 0, 0, 0)], name).value == math.inf


def test_the_signature_states_whether_ends_are_counted() -> None:
    told = score_likelihood([Likelihood(1.0, 1, 1, 1, end=False)], "perplexity")
    assert told.signature == "unit:piece|scale:exp|ends:none|version:regard.1"


def test_the_signature_states_the_unit() -> None:
    signatures = {name: score_likelihood([Likelihood(1.0, 1, 1, 1)], name).signature for name in NAMES}
    assert signatures["perplexity"] == "unit:piece|scale:exp|ends:counted|version:regard.1"
    assert signatures["word_perplexity"].startswith("unit:word|scale:exp|")
    assert signatures["nats_per_character"].startswith("unit:character|scale:nats|")
    assert signatures["bits_per_character"].startswith("unit:character|scale:bits|")


@pytest.mark.parametrize("scored", [score, score_lines])
def test_texts_have_no_likelihood(scored: Any) -> None:
    with pytest.raises(ConfigError, match=r"^perplexity is of likelihoods, and texts were given; for these"):
        scored(["a"], ["a"], "perplexity")


def test_what_is_no_likelihood_metric_is_told() -> None:
    with pytest.raises(ConfigError, match=r"^bleu is of texts, and likelihoods were given; for these there is bits_"):
        score_likelihood([Likelihood(1.0, 1, 1, 1)], "bleu")
    with pytest.raises(DataError, match="no line was given"):
        score_likelihood([], "perplexity")
