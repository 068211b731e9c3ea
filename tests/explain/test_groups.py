"""What is taken away: pieces, words or spans, and never what is special."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RequestError
from regard.explain import Attribution, Axis, Unit
from regard.explain.faithfulness import FaithfulnessSettings, faithfulness
from regard.explain.groups import PerturbationSettings, groups
from regard.explain.lime import LimeSettings, lime
from regard.explain.occlusion import OcclusionSettings, occlusion
from regard.explain.shapley import ShapleySettings, shapley
from regard.explain.versions import Versions, together
from regard.explain.words import by_words
from tests.explain.known_truth import BLANK, END, Known, Labelled, linear

PIECES, WORDS = PerturbationSettings(of="pieces"), PerturbationSettings()


def pairs() -> Axis:
    """Two texts with a separator between them: five words and four."""
    text = "a bb c d e f g h i"
    units, at = [], 0
    for word in text.split():
        units.append(Unit(word, (at, at + len(word))))
        at += len(word) + 1
    return Axis(text, (*units[:5], Unit("<sep>", None, True), *units[5:], Unit("</s>", None, True)))


def test_pieces_of_a_word_are_taken_away_together() -> None:
    found = groups(Labelled().inputs, WORDS)
    assert found.home.tolist() == [-1, 0, 0, 1, 2, 2, 3, -1]
    assert [unit.text for unit in found.axis.units] == ["<s>", "Horse", "rode", "slowly", "!", "</s>"]
    assert found.places.tolist() == [1, 2, 3, 4]


def test_each_piece_may_be_a_group() -> None:
    found = groups(Labelled().inputs, PIECES)
    assert found.axis == Labelled().inputs
    assert found.home.tolist() == [-1, 0, 1, 2, 3, 4, 5, -1]


def test_spans_do_not_reach_over_a_separator() -> None:
    found = groups(pairs(), PerturbationSettings(of="spans", size=3))
    assert [unit.text for unit in found.axis.units] == ["a bb c", "d e", "<sep>", "f g h", "i", "</s>"]
    assert found.home.tolist() == [0, 0, 0, 1, 1, -1, 2, 2, 2, 3, -1]


def test_words_are_those_of_every_other_explanation() -> None:
    for axis in (pairs(), Labelled().inputs, linear(torch.ones(1, 4)).inputs):
        other = by_words(Attribution("other", Axis("", (Unit("label"),)), axis, np.zeros((1, len(axis)))))
        assert groups(axis, WORDS).axis == other.inputs


@given(st.integers(1, 12), st.integers(1, 5))
def test_every_piece_that_is_not_special_is_in_one_group(words: int, size: int) -> None:
    axis = linear(torch.ones(1, words)).inputs
    for of in ("pieces", "words", "spans"):
        found = groups(axis, PerturbationSettings(of=of, size=size))
        assert (found.home < 0).tolist() == [unit.special for unit in axis.units]
        assert sorted(set(found.home.tolist()) - {-1}) == list(range(len(found)))


def seen(how: str, kept: list[bool]) -> tuple[list[int], list[bool] | None]:
    """What reaches the model."""
    inputs = []

    class Watched(Known):
        def scores(self, pieces: torch.Tensor, real: torch.Tensor | None = None) -> torch.Tensor:
            inputs.append((pieces[0].tolist(), None if real is None else real[0].tolist()))
            return super().scores(pieces, real)

    subject = Watched(lambda there: there.sum(1, keepdim=True), len(kept))
    Versions(subject, PerturbationSettings(how=how))(np.array([kept]))
    return inputs[0]


def test_a_blank_keeps_every_place() -> None:
    assert seen("blank", [True, False, True]) == ([2, BLANK, 4, END], None)


def test_removing_moves_the_rest_together() -> None:
    assert seen("remove", [True, False, True]) == ([2, 4, END, BLANK], [True, True, True, False])


def test_of_a_text_with_nothing_left_one_blank_stays() -> None:
    pieces, real = together(torch.zeros(1, 3, dtype=torch.long), torch.zeros(1, 3, dtype=torch.bool))
    assert (pieces.tolist(), real.tolist()) == ([[0, 0, 0]], [[True, False, False]])


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
@pytest.mark.parametrize("how", ["blank", "remove"])
def test_a_version_scores_what_the_model_gives_that_text_alone(kind: str, how: str) -> None:
    subject = Labelled(kind)
    subject.model.eval()
    found = Versions(subject, PerturbationSettings(how=how))(np.array([[True] * 4, [False, True, False, True]]))
    blanked = [2, 3, 3, 7, 3, 3, 10, 1]
    text = torch.tensor([blanked if how == "blank" else [2, 7, 10, 1]])
    np.testing.assert_allclose(found[0], subject.scores(subject.pieces[None])[0].detach(), atol=1e-5)
    np.testing.assert_allclose(found[1], subject.scores(text)[0].detach(), atol=1e-5)


def test_the_size_of_a_batch_changes_nothing() -> None:
    kept = np.random.default_rng(0).random((40, 4)) < 0.5
    few, many = (Versions(Labelled(), PerturbationSettings(tokens=tokens))(kept) for tokens in (1, 10_000))
    np.testing.assert_allclose(few, many, atol=1e-5)


@pytest.mark.parametrize("groups", [3, 14])
def test_no_more_versions_are_scored_than_was_told(groups: int) -> None:
    scored = []

    class Counted(Known):
        def scores(self, pieces: torch.Tensor, real: torch.Tensor | None = None) -> torch.Tensor:
            scored.append(len(pieces))
            return super().scores(pieces, real)

    subject = Counted(lambda there: there.sum(1, keepdim=True), groups)
    for settings, run in (
        (OcclusionSettings(), lambda settings: occlusion(subject, settings)),
        (LimeSettings(samples=70), lambda settings: lime(subject, settings)),
        (ShapleySettings(samples=6), lambda settings: shapley(subject, settings)),
        (FaithfulnessSettings(), lambda settings: faithfulness(subject, np.arange(groups + 1.0), settings)),
    ):
        scored.clear()
        run(settings)
        assert 0 < sum(scored) <= settings.cost(groups)
        # With many groups, versions hardly come again.
        assert groups < 14 or sum(scored) >= 0.7 * settings.cost(groups)


def test_dropout_is_off_while_asking_and_on_again_after() -> None:
    subject = Labelled()
    subject.model.train()
    versions = Versions(subject, WORDS)
    first = versions.whole()
    versions._known.clear()
    assert versions.whole().tolist() == first.tolist()
    assert all(module.training for module in subject.model.modules())


def test_a_score_that_is_not_finite_is_refused() -> None:
    subject = Known(lambda there: there.log(), 2, 2)
    with pytest.raises(RequestError, match="Output 0 has no finite log-probability"):
        occlusion(subject, OcclusionSettings())


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(RequestError, match="text is empty"):
        groups(Axis("  ", (Unit("</s>", None, True),)), WORDS)


def test_a_text_of_special_pieces_is_refused() -> None:
    with pytest.raises(RequestError, match="All 1 pieces of the input are special"):
        groups(Axis("x", (Unit("</s>", None, True),)), WORDS)
