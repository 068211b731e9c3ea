"""Samples follow the distribution they are drawn from, and a seed tells them whatever the company."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decode import Request, SearchSettings, search
from regard.decode.sampling import Filters, gumbel
from tests.decode.toys import PAD, Markov, outputs, random_tables

SOURCE = torch.tensor([[3, 4], [3, 5], [5, 5]])
SAMPLE = SearchSettings(method="sample", best=4)


def drawn(settings: SearchSettings, requests=None) -> list[list[tuple[int, ...]]]:
    found = search(Markov(random_tables(1, sharpness=0.5)), SOURCE, None, settings, requests, banned=(PAD,))
    return [[each.pieces for each in outputs_] for outputs_ in found]


def test_the_same_seed_draws_the_same_and_another_draws_something_else() -> None:
    assert drawn(SAMPLE) == drawn(SAMPLE)
    assert drawn(SAMPLE) != drawn(SAMPLE.model_copy(update={"seed": 1}))
    assert drawn(SAMPLE) != drawn(SAMPLE, [Request(seed=7)] * 3)


def test_several_samples_of_one_source_differ() -> None:
    assert all(len(set(found)) > 1 for found in drawn(SAMPLE))


def test_a_source_draws_the_same_wherever_it_stands() -> None:
    model, order = Markov(random_tables(1), 1e-6), [2, 0, 1]
    together = outputs(model, SOURCE, None, SAMPLE)
    assert outputs(model, SOURCE[order], None, SAMPLE) == [together[row] for row in order]
    assert outputs(model, SOURCE[[1, 1]], None, SAMPLE) == [together[1]] * 2


def test_pieces_come_as_often_as_they_are_likely() -> None:
    model, count = Markov(random_tables(1, sharpness=1.0)), 600
    settings = SearchSettings(method="sample", best=count)
    found = outputs(model, SOURCE[:1], None, settings, longest=1)[0]
    assert len(found) == count
    chances = model.tables[1, 1, 1, 2:].softmax(-1).tolist()
    often = [found.count(pieces) / count for pieces in [(), (3,), (4,), (5,)]]
    assert often == pytest.approx(chances, abs=0.06)


@given(st.integers(0, 10_000), st.sampled_from(["top_k", "top_p", "min_p"]))
def test_only_what_passes_the_filter_is_drawn(seed: int, name: str) -> None:
    random = torch.Generator().manual_seed(seed)
    scores = torch.randn(12, generator=random).log_softmax(-1)
    chances = scores.exp()
    value = {"top_k": 4, "top_p": 0.7, "min_p": 0.4}[name]
    passing = {
        "top_k": chances >= chances.sort().values[-4],
        "top_p": torch.stack([chances[chances > each].sum() < 0.7 for each in chances]),
        "min_p": chances >= 0.4 * chances.max(),
    }[name]
    filters = Filters(SearchSettings(method="sample", **{name: value}))
    for _ in range(8):
        noise = gumbel(12, random)
        expected = int((scores + noise).masked_fill(~passing, -torch.inf).argmax())
        assert filters.winner(scores, noise) == expected
        assert filters.clear_winner(scores, noise) in (expected, None)


@given(
    st.lists(st.sampled_from([0.0, 1e-7, -5e-5, 1e-4, -1.0, -3.0]), min_size=3, max_size=9),
    st.integers(0, 10_000),
    st.sampled_from([{"top_k": 2}, {"top_p": 0.3}, {"top_p": 0.6, "temperature": 0.5}, {"min_p": 0.37}, {}]),
)
def test_a_winner_that_is_clear_under_rounding_is_the_winner_of_exact_numbers(levels, seed: int, kept: dict) -> None:
    random, filters = torch.Generator().manual_seed(seed), Filters(SearchSettings(method="sample", **kept))
    exact = torch.tensor(levels).log_softmax(-1)
    for _ in range(5):
        noise, rounding = gumbel(len(levels), random), 1e-6 * (torch.rand(len(levels), generator=random) - 0.5)
        assert filters.clear_winner(exact + rounding, noise) in (filters.winner(exact, noise), None)


def test_a_clear_winner_is_the_usual_case() -> None:
    random = torch.Generator().manual_seed(0)
    scores = torch.randn(5000, generator=random).log_softmax(-1)
    filters = Filters(SearchSettings(method="sample", top_p=0.9, top_k=1000, min_p=0.01))
    unclear = [filters.clear_winner(scores, gumbel(5000, random)) is None for _ in range(60)]
    assert sum(unclear) <= 1


def test_a_low_temperature_takes_the_likeliest() -> None:
    cold = SearchSettings(method="sample", temperature=1e-4)
    model = Markov(random_tables(1))
    assert outputs(model, SOURCE, None, cold) == outputs(model, SOURCE, None, SearchSettings(method="greedy"))


def test_the_likeliest_alone_passes_top_k_of_one() -> None:
    model = Markov(random_tables(1))
    one = SearchSettings(method="sample", top_k=1)
    assert outputs(model, SOURCE, None, one) == outputs(model, SOURCE, None, SearchSettings(method="greedy"))
