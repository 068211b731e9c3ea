"""Rounding never decides: a text gets the same output alone, in any batch and at any padding."""

import hypothesis
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decode import SearchSettings, search
from regard.decode.hypotheses import Candidate, Ended, Live
from regard.decode.ties import Pool, choose, ranked
from tests.decode.toys import PAD, Markov, alone, outputs, random_tables, small_transformer, texts, tied_tables

NOISE = 1e-6
METHODS = {
    "greedy": SearchSettings(method="greedy"),
    "beam": SearchSettings(beams=3, best=3),
    "sure": SearchSettings(beams=4, best=2, stop="sure", length="wu"),
    "sum": SearchSettings(beams=2, length="none"),
    "diverse": SearchSettings(method="diverse", beams=4, groups=2, best=4, diversity=0.5),
    "no repeat": SearchSettings(beams=3, best=2, no_repeat=2),
    "sample": SearchSettings(method="sample", best=3),
    "top k": SearchSettings(method="sample", top_k=3, temperature=0.7),
    "top p": SearchSettings(method="sample", top_p=0.6, best=2),
    "filters": SearchSettings(method="sample", best=2, top_p=0.6, top_k=4, min_p=0.1),
    "min p": SearchSettings(method="sample", min_p=0.37, temperature=2.0),
}


@pytest.mark.parametrize("name", METHODS)
@hypothesis.settings(max_examples=3)
@given(seed=st.integers(0, 10_000))
def test_a_model_full_of_near_ties_gives_the_same_outputs_alone_and_in_any_batch(name: str, seed: int) -> None:
    tables, settings = tied_tables(seed), METHODS[name]
    source, real = texts(7, 4, 8, seed)
    noisy = Markov(tables, NOISE)
    together = outputs(noisy, source, real, settings)
    single = [outputs(noisy, alone(source, real, row), None, settings)[0] for row in range(7)]
    order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))[:4]
    wider = torch.cat([source[order], torch.zeros(4, 3, dtype=torch.long)], dim=1)
    among_others = outputs(noisy, wider, wider > 0, settings)
    assert together == single
    assert among_others == [single[row] for row in order]


def test_without_the_rule_the_same_model_does_change_its_outputs() -> None:
    """The toy is no easy case: with a margin below its noise some of many sources come out differently."""
    settings = SearchSettings(beams=3, best=3, margin=1e-12)
    source, real = texts(24, 4, 8, seed=1)
    noisy = Markov(tied_tables(seed=1), NOISE)
    together = outputs(noisy, source, real, settings)
    assert together != [outputs(noisy, alone(source, real, row), None, settings)[0] for row in range(24)]


@pytest.mark.parametrize("name", ["beam", "diverse", "sample"])
@pytest.mark.parametrize(
    ("count", "longest"), [(4, 4), pytest.param(60, 12, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_a_transformer_gives_the_same_outputs_and_scores_alone_and_in_company(name, count, longest) -> None:
    model, settings = small_transformer(), METHODS[name].model_copy(update={"longest_extra": 2})
    source, real = texts(count, longest, 12, seed=2)
    together = search(model, source, real, settings, banned=(PAD,))
    for row, found in enumerate(together):
        single = search(model, alone(source, real, row), None, settings, banned=(PAD,))[0]
        assert [each.pieces for each in found] == [each.pieces for each in single]
        assert [each.score for each in found] == pytest.approx([each.score for each in single], abs=1e-4)


def test_equal_outputs_are_ordered_by_their_pieces() -> None:
    tables = torch.full((1, 7, 7, 7), 0.0)
    model = Markov(tables.log_softmax(-1))
    found = outputs(model, torch.tensor([[3]]), None, SearchSettings(beams=3, best=3, length="none"), 3)[0]
    assert found == [(), (3,), (3, 3)]


@given(st.lists(st.sampled_from([0.0, -5e-5, -1e-4, -1.5e-4, -1.0]), min_size=2, max_size=8), st.data())
def test_what_is_chosen_is_what_exact_numbers_choose(exact: list[float], data) -> None:
    count = data.draw(st.integers(1, len(exact) - 1))
    noise = [data.draw(st.floats(-1e-6, 1e-6)) for _ in exact]
    parent = Live((), (), 0.0, 0)
    given_ = [
        Candidate(number + off, parent, piece, 0.0)
        for piece, (number, off) in enumerate(zip(exact, noise, strict=True))
    ]
    given_.sort(key=lambda each: -each.score)
    pool = Pool(given_[: count + 1], given_[count].score, lambda low: [each for each in given_ if each.score >= low])
    found = choose(pool, count, lambda each: exact[each.piece], 1e-4)
    best = sorted(range(len(exact)), key=lambda piece: (-exact[piece], piece))[:count]
    assert sorted(each.piece for each in found) == sorted(best)


@given(st.lists(st.sampled_from([0.0, -5e-5, -1e-4, -1.5e-4, -1.0]), max_size=8), st.data())
def test_outputs_are_ranked_as_exact_numbers_rank_them(exact: list[float], data) -> None:
    best = data.draw(st.integers(1, 8))
    ended = [Ended(number + data.draw(st.floats(-1e-6, 1e-6)), (at,), (), True) for at, number in enumerate(exact)]
    found = ranked(ended, best, lambda each: exact[each.pieces[0]], 1e-4)
    order = sorted(range(len(exact)), key=lambda at: (-exact[at], at))
    assert [each.pieces[0] for each in found] == order[:best]


def test_where_nothing_is_close_nothing_is_computed_twice() -> None:
    model = Markov(random_tables(3, sharpness=5.0))
    outputs(model, torch.tensor([[3], [4], [5]]), None, SearchSettings(beams=2), 6)
    assert 1 not in model.rows
