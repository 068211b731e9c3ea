"""Occlusion: what is covered is missed by as much as it counts."""

import numpy as np
import pytest
import torch

from regard.errors import ConfigError
from regard.explain.occlusion import OcclusionSettings, occlusion
from tests.explain.known_truth import Labelled, linear, reads_one_word


@pytest.mark.parametrize("how", ["blank", "remove"])
def test_it_finds_the_weights_of_a_sum(how: str) -> None:
    weights = torch.randn(3, 7)
    found = occlusion(linear(weights), OcclusionSettings(how=how))
    np.testing.assert_allclose(found.weights[:, :7], weights, atol=1e-5)
    assert (found.weights[:, 7] == 0).all()


def test_only_the_word_that_is_read_counts() -> None:
    found = occlusion(reads_one_word(3, 6), OcclusionSettings(of="pieces"))
    assert np.flatnonzero(found.weights[0]).tolist() == [3]
    # log sigmoid(2) - log sigmoid(-2) = 2.
    assert found.weights[0, 3] == pytest.approx(2, abs=1e-5)


def test_spans_slide_and_a_word_has_the_mean_of_its_spans() -> None:
    weights = torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    found = occlusion(linear(weights), OcclusionSettings(of="spans", size=2))
    np.testing.assert_allclose(found.weights[0, :4], [3, (3 + 6) / 2, (6 + 12) / 2, 12], atol=1e-5)


def test_a_span_longer_than_the_text_is_the_text() -> None:
    found = occlusion(linear(torch.tensor([[1.0, 2.0]])), OcclusionSettings(of="spans", size=9))
    np.testing.assert_allclose(found.weights[0, :2], [3, 3], atol=1e-5)


def test_steps_that_would_pass_over_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="step = 4 is more than size = 2"):
        OcclusionSettings.read({"of": "spans", "size": 2, "step": 4})


def test_it_says_what_was_done_and_what_it_cannot_tell() -> None:
    found = occlusion(Labelled(), OcclusionSettings(of="spans", size=2, how="remove"))
    assert found.source == "spans of 2 words taken out, what is left moving together, moved by 1"
    assert found.caveat.endswith(".")
    assert found.signed
    assert found.error is None
