"""What every search keeps to, whatever its method: what may be written, how long, and what is reported."""

import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from regard.decode import SEARCHES, Request, SearchSettings, force, greedy, search
from regard.errors import ConfigError, ModelError, RequestError
from regard.models import MODELS
from tests.decode.test_greedy import model_and_source
from tests.decode.toys import BEGIN, END, PAD, Markov, outputs, random_tables, texts

SOURCE = torch.tensor([[3, 4], [3, 5], [5, 5]])
SETTINGS = {
    "greedy": SearchSettings(method="greedy"),
    "beam": SearchSettings(beams=3, best=3),
    "diverse": SearchSettings(method="diverse", beams=4, groups=2, best=3),
    "sample": SearchSettings(method="sample", best=3),
}


def test_every_method_is_tested() -> None:
    assert SETTINGS.keys() == SEARCHES.keys()


@pytest.mark.parametrize("name", MODELS)
def test_one_beam_is_greedy_search(name: str) -> None:
    model, source, real = model_and_source(name, end_bias=0.2)
    found = search(model, source, real, SearchSettings(beams=1), [Request(longest=5)] * 6)
    assert [list(each[0].pieces) for each in found] == greedy(model, source, real, 5)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_reported_is_what_rescoring_finds(name: str) -> None:
    model, source, real = model_and_source(name, end_bias=0.2)
    found = [each[0] for each in search(model, source, real, SearchSettings(beams=2), [Request(longest=4)] * 6)]
    rescored = force(model, source, real, [each.pieces for each in found])
    for hypothesis, again in zip(found, rescored, strict=True):
        known = hypothesis.piece_log_probabilities
        assert len(known) == len(hypothesis.pieces) + hypothesis.complete
        assert known == pytest.approx(again[: len(known)], abs=1e-5)
        assert hypothesis.log_probability == pytest.approx(sum(known))
        assert hypothesis.score == pytest.approx(sum(known) / len(known), abs=1e-5)


@pytest.mark.parametrize("method", SETTINGS)
@examples(max_examples=5)
@given(seed=st.integers(0, 10_000))
def test_every_source_has_an_output_and_special_pieces_are_never_written(method: str, seed: int) -> None:
    tables = random_tables(seed)
    # Without a ban, padding and the beginning would be written all the time.
    tables[..., :2] += 4.0
    source, real = texts(4, 3, 6, seed)
    for found in outputs(Markov(tables.log_softmax(-1)), source, real, SETTINGS[method]):
        assert found
        assert not {0, 1, END} & {piece for pieces in found for piece in pieces}


@pytest.mark.parametrize("method", SETTINGS)
def test_an_output_begins_with_the_prefix_asked_for(method: str) -> None:
    requests = [Request(prefix=(5, 3)), Request(), Request(prefix=(4,))]
    found = search(Markov(random_tables(1)), SOURCE, None, SETTINGS[method], requests, banned=(PAD,))
    for request, outputs_ in zip(requests, found, strict=True):
        assert all(each.pieces[: len(request.prefix)] == request.prefix for each in outputs_)
    rescored = force(Markov(random_tables(1)), SOURCE, None, [each[0].pieces for each in found])
    for each, again in zip(found, rescored, strict=True):
        assert each[0].piece_log_probabilities == pytest.approx(again[: len(each[0].piece_log_probabilities)])


def test_a_prefix_leads_to_the_likeliest_way_on() -> None:
    """Forced to begin like its own best output, the search finds that output again."""
    model, wide = Markov(random_tables(4)), SearchSettings(beams=50)
    best = outputs(model, SOURCE, None, wide)
    assert all(best)
    requests = [Request(prefix=each[0][:1], longest=6) for each in best]
    again = search(model, SOURCE, None, wide, requests, banned=(PAD,))
    assert [each[0].pieces for each in again] == [each[0] for each in best]


@pytest.mark.parametrize("method", SETTINGS)
def test_an_output_without_an_end_stops_at_its_own_limit_and_says_so(method: str) -> None:
    tables = random_tables(2)
    tables[..., END] = -50.0
    requests = [Request(longest=3), Request(longest=5), Request()]
    found = search(Markov(tables), SOURCE, None, SETTINGS[method], requests, banned=(PAD,))
    assert [len(each[0].pieces) for each in found] == [3, 5, 24]
    assert not any(each.complete for outputs_ in found for each in outputs_)


def test_complete_outputs_stand_before_those_cut_at_the_limit() -> None:
    tables = random_tables(2)
    tables[..., END] -= 3.0
    found = search(
        Markov(tables), SOURCE, None, SearchSettings(beams=4, best=4), [Request(longest=5)] * 3, banned=(PAD,)
    )
    kinds = [[each.complete for each in outputs_] for outputs_ in found]
    assert kinds == [sorted(kind, reverse=True) for kind in kinds]
    assert {True, False} <= {complete for kind in kinds for complete in kind}


def test_sources_that_are_done_leave_the_batch() -> None:
    tables = random_tables(0, sources=2)
    tables[0, ..., END], tables[1, ..., END] = 9.0, -50.0
    model = Markov(tables.log_softmax(-1))
    outputs(model, torch.tensor([[4], [4], [5]]), None, SearchSettings(method="greedy"), 4)
    assert model.rows == [3, 1, 1, 1]


@pytest.mark.parametrize("size", [2, 3])
@examples(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_nothing_is_repeated_where_that_is_forbidden(size: int, seed: int) -> None:
    settings = SearchSettings(beams=3, no_repeat=size)
    for found in outputs(Markov(random_tables(seed)), SOURCE, None, settings, 12):
        runs = list(zip(*(found[0][start:] for start in range(size)), strict=False))
        assert len(runs) == len(set(runs))


def test_an_output_ends_where_everything_else_is_blocked() -> None:
    tables = random_tables(2)
    tables[..., END] = -20.0
    found = outputs(Markov(tables), SOURCE, None, SearchSettings(beams=2, no_repeat=1), 12)
    assert [sorted(each[0]) for each in found] == [[3, 4, 5]] * 3


def test_a_number_that_is_none_is_an_error_that_says_where() -> None:
    tables = random_tables(2)
    tables[2, 1, 1, 4] = torch.nan
    with pytest.raises(ModelError, match="piece 4 in row 1 of the batch is not a number"):
        outputs(Markov(tables), SOURCE, None, SearchSettings())


def test_impossible_pieces_are_not_written() -> None:
    tables = random_tables(2)
    tables[..., 3] = -torch.inf
    found = outputs(Markov(tables), SOURCE, None, SearchSettings(beams=40, best=40), 4)
    assert not any(3 in pieces for each in found for pieces in each)
    assert all(len(each) > 10 for each in found)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(prefix=(99,)), "Request 1: `prefix` holds piece 99"),
        (Request(avoid=((),)), "empty sequence"),
        (Request(must=((),)), "without alternatives"),
        (Request(must=(((END,),),)), "the end"),
        (Request(must=(((3, BEGIN),),)), "`must` holds piece 1, which is never written"),
        (Request(prefix=(3, 3), longest=2), "longest = 2 leaves no room after a prefix of 2 pieces"),
        (Request(longest=0), "longest = 0 leaves no room"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_its_name(request_: Request, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        search(Markov(random_tables(0)), SOURCE[:2], None, SearchSettings(), [Request(), request_])


def test_requests_are_one_for_each_source() -> None:
    with pytest.raises(RequestError, match="1 requests for 3 sources"):
        search(Markov(random_tables(0)), SOURCE, None, SearchSettings(), [Request()])


def test_the_end_cannot_be_banned() -> None:
    with pytest.raises(RequestError, match="banned holds piece 2, which is the end"):
        search(Markov(random_tables(0)), SOURCE, None, SearchSettings(), banned=(END,))


def test_a_source_without_pieces_is_refused() -> None:
    with pytest.raises(ModelError, match="Source 1 of the batch has no real piece"):
        search(Markov(random_tables(0)), SOURCE[:2], torch.tensor([[True, True], [False, False]]), SearchSettings())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"method": "bean"}, "Did you mean 'beam'"),
        ({"length": "avrage"}, "Did you mean 'average'"),
        ({"length": {"name": "wu", "alpha": -1.0}}, "alpha = -1.0"),
        ({"best": 6}, "best = 6 is more than beams = 5"),
        ({"method": "greedy", "best": 2}, "method = 'greedy' finds one output"),
        ({"method": "diverse", "groups": 2}, "beams = 5 cannot be shared evenly by groups = 2"),
        ({"top_p": 0.0}, "top_p = 0.0"),
        ({"beems": 3}, "Did you mean 'beams'"),
    ],
)
def test_settings_that_cannot_be_say_why(values: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        SearchSettings.read(values, "search")


def test_the_limit_follows_the_source() -> None:
    assert SearchSettings(longest_factor=1.5, longest_extra=7).limit(5) == 14
