"""A beam wide enough finds what looking at every possible output finds."""

import hypothesis
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decode import Request, SearchSettings, search
from tests.decode.toys import PAD, Markov, every_output, outputs, random_tables

PENALTIES = ["none", "average", {"name": "average", "alpha": 0.5}, "wu", {"name": "wu", "alpha": 1.0}]
SOURCE = torch.tensor([[3, 4]])


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@hypothesis.settings(max_examples=4)
@given(seed=st.integers(0, 10_000), stop=st.sampled_from(["sure", "first"]), longest=st.integers(1, 4))
def test_a_wide_beam_finds_the_best_outputs_of_all(penalty, seed: int, stop: str, longest: int) -> None:
    model = Markov(random_tables(seed))
    settings = SearchSettings(beams=200, best=7, length=penalty, stop=stop)
    found = search(model, SOURCE, None, settings, [Request(longest=longest)], banned=(PAD,))[0]
    expected = every_output(model, SOURCE, longest, penalty)[:7]
    complete = [each for each in found if each.complete]
    assert [each.pieces for each in complete] == [pieces for _, pieces in expected]
    assert [each.score for each in complete] == pytest.approx([score for score, _ in expected], abs=1e-5)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@hypothesis.settings(max_examples=4)
@given(seed=st.integers(0, 10_000), beams=st.integers(1, 4), sharpness=st.sampled_from([0.3, 2.0, 6.0]))
def test_stopping_when_sure_loses_nothing_that_going_on_would_have_found(penalty, seed, beams, sharpness) -> None:
    model = Markov(random_tables(seed, sharpness=sharpness))
    sure = SearchSettings(beams=beams, best=beams, length=penalty, stop="sure")
    # Within such a margin nothing is ever sure, so it goes on to the limit.
    never = sure.model_copy(update={"margin": 1e6})
    assert outputs(model, SOURCE, None, sure, 7) == outputs(model, SOURCE, None, never, 7)


def test_stopping_when_sure_stops() -> None:
    model = Markov(random_tables(5, sharpness=4.0))
    outputs(model, SOURCE, None, SearchSettings(beams=2, length="none", stop="sure"), 500)
    assert len(model.rows) < 100


def test_stopping_at_the_first_ends_once_as_many_have_ended_as_there_are_beams() -> None:
    tables = random_tables(1)
    tables[..., 2] = 5.0
    model = Markov(tables.log_softmax(-1))
    outputs(model, SOURCE, None, SearchSettings(beams=3, stop="first"), 50)
    assert model.rows == [1, 3]
