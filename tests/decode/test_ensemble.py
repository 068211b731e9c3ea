"""Several models search as one."""

import pytest
import torch

from regard.decode import Ensemble, SearchSettings, force, search
from regard.errors import ConfigError
from regard.models import Decoder
from tests.decode.toys import PAD, Markov, outputs, random_tables, small_recurrent, texts

SOURCE = torch.tensor([[3, 4], [3, 5], [5, 5]])


def test_an_ensemble_is_a_model_that_generates() -> None:
    assert isinstance(Ensemble([Markov(random_tables(0))]), Decoder)


@pytest.mark.parametrize("mean", ["probabilities", "logs"])
def test_one_model_twice_is_that_model(mean: str) -> None:
    model = Markov(random_tables(1))
    settings = SearchSettings(beams=3, best=3)
    assert outputs(Ensemble([model, model], mean), SOURCE, None, settings) == outputs(model, SOURCE, None, settings)


def test_probabilities_are_averaged() -> None:
    tables = [random_tables(seed) for seed in (1, 2)]
    joined = Ensemble([Markov(each) for each in tables])
    averaged = Markov(torch.stack(tables).exp().mean(0).log())
    assert force(joined, SOURCE, None, [[3, 4], [], [5]])[0] == pytest.approx(
        force(averaged, SOURCE, None, [[3, 4], [], [5]])[0], abs=1e-5
    )


def test_the_geometric_mean_is_a_distribution() -> None:
    joined = Ensemble([Markov(random_tables(seed)) for seed in (1, 2, 3)], "logs")
    state, first = joined.start(SOURCE)
    said, _ = joined.step(first, state)
    assert said.exp().sum(-1).tolist() == pytest.approx([1.0] * 3, abs=1e-5)


def test_members_keep_their_own_states_while_sources_leave_and_beams_move() -> None:
    joined = Ensemble([small_recurrent(0), small_recurrent(1)])
    source, real = texts(3, 4, 12, seed=1)
    settings = SearchSettings(beams=2, longest_extra=2, longest_factor=1.0)
    found = [each[0] for each in search(joined, source, real, settings, banned=(PAD,))]
    rescored = force(joined, source, real, [each.pieces for each in found])
    for each, again in zip(found, rescored, strict=True):
        assert each.piece_log_probabilities == pytest.approx(again[: len(each.piece_log_probabilities)], abs=1e-5)


def test_what_cannot_be_joined_is_refused() -> None:
    with pytest.raises(ConfigError, match="Model 1 of the ensemble"):
        Ensemble([Markov(random_tables(0)), Markov(random_tables(0, size=7))])
    with pytest.raises(ConfigError, match="at least one"):
        Ensemble([])
    with pytest.raises(ConfigError, match="Unknown mean 'median'"):
        Ensemble([Markov(random_tables(0))], "median")
