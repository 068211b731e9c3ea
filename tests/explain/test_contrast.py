"""Why this and not that: any method on the difference of two alternatives."""

from copy import copy

import numpy as np
import pytest
import torch

from regard.errors import RequestError
from regard.explain import Axis, Subject, Unit
from regard.explain.contrast import One, contrast, instead
from regard.explain.occlusion import OcclusionSettings, occlusion
from regard.explain.shapley import ShapleySettings, shapley
from regard.explain.words import by_words
from tests.explain.known_truth import Known, Labelled, linear


def test_the_difference_of_two_sums_has_the_difference_of_their_weights() -> None:
    weights = torch.randn(2, 5)
    subject = linear(weights)
    why = contrast(One(subject, 0), One(subject, 1))
    assert isinstance(why, Subject)
    assert [unit.text for unit in why.outputs.units] == ["label 0 not label 1"]
    found = occlusion(why, OcclusionSettings()).weights[0, :5]
    np.testing.assert_allclose(found, weights[0] - weights[1], atol=1e-5)


def test_a_contrast_is_the_difference_of_the_two_explanations() -> None:
    subject, settings = Labelled(), ShapleySettings(exact=True)
    both = shapley(subject, settings).weights
    found = shapley(contrast(One(subject, 2), One(subject, 0)), settings).weights
    np.testing.assert_allclose(found[0], both[2] - both[0], atol=1e-5)


def test_one_output_of_alternatives_of_different_length_can_be_compared() -> None:
    subject, other = linear(torch.randn(3, 4)), linear(torch.randn(2, 4))
    other.model = subject.model
    with pytest.raises(RequestError, match=r"3 and 2 outputs, .* say which output"):
        contrast(subject, other)
    assert len(contrast(subject, other, output=1).outputs) == 1


def test_outputs_that_are_the_same_keep_their_name() -> None:
    subject, other = linear(torch.randn(2, 4)), linear(torch.randn(2, 4))
    other.model = subject.model
    other.outputs = Axis("", (Unit("label 0"), Unit("tree")))
    assert [unit.text for unit in contrast(subject, other).outputs.units] == ["label 0", "label 1 not tree"]


def test_an_output_that_does_not_exist_is_refused() -> None:
    with pytest.raises(RequestError, match="Output 3 does not exist: the outputs are numbered 0 to 2"):
        One(Labelled(), 3)


def test_two_texts_cannot_be_contrasted() -> None:
    subject, other = linear(torch.randn(1, 4)), linear(torch.randn(1, 4))
    other.model, other.pieces = subject.model, other.pieces + 1
    with pytest.raises(RequestError, match="different models or inputs"):
        contrast(subject, other)


def writing(subject: Known, names: str, outputs: list[int]) -> Known:
    """The subject as if it had written these letters, each with the score of one of its outputs."""
    made = copy(subject)
    made.outputs = Axis(names, tuple(Unit(name, (place, place + 1)) for place, name in enumerate(names)))
    made.scores = lambda pieces, real=None: subject.scores(pieces, real)[:, outputs]
    return made


def test_what_is_written_is_set_against_another_where_they_first_differ() -> None:
    weights = torch.randn(4, 5)
    sums = linear(weights)
    why = instead(writing(sums, "abc", [0, 1, 2]), writing(sums, "ax", [0, 3]))
    assert [unit.text for unit in why.outputs.units] == ["b not x"]
    assert [unit.text for unit in by_words(occlusion(why, OcclusionSettings())).outputs.units] == ["b not x"]
    found = occlusion(why, OcclusionSettings()).weights[0, :5]
    np.testing.assert_allclose(found, weights[1] - weights[3], atol=1e-5)


def test_the_same_output_or_its_beginning_is_nothing_to_set_against() -> None:
    sums = linear(torch.randn(3, 5))
    subject = writing(sums, "abc", [0, 1, 2])
    for one in (subject, writing(sums, "ab", [0, 1])):
        with pytest.raises(RequestError, match="nothing to set against it; give another output"):
            instead(subject, one)
