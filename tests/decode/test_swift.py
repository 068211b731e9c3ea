"""Beams for which the kernels choose find what beams find that choose for themselves."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decode import Request, SearchSettings, search, searching
from regard.decode.swift import plain
from regard.errors import ModelError
from regard.models import Vocabulary
from regard.nn import native
from tests.decode.toys import END, Markov, random_tables, texts, tied_tables

pytestmark = pytest.mark.skipif(not native.ready(), reason="there is no compiler for the kernels")
SETTINGS = [
    SearchSettings(method="greedy"),
    SearchSettings(beams=1),
    SearchSettings(beams=3, best=3),
    SearchSettings(beams=2, best=2, margin=0.5),
    SearchSettings(beams=3, longest_factor=0, longest_extra=3),
]


def both(model: Markov, settings: SearchSettings, *rest: object) -> tuple[list, list]:
    """What the kernels help to find, and what is found without them."""
    source, real = texts(4, 5, model.vocabulary.source, seed=1)
    assert plain(model, settings, *(rest or (None,)), ())
    found = search(model, source, real, settings, *rest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "plain", lambda *_: False)
        return found, search(model, source, real, settings, *rest)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@given(seed=st.integers(0, 10**6))
def test_the_same_is_found_to_the_bit(settings: SearchSettings, seed: int) -> None:
    found, wanted = both(Markov(random_tables(seed, size=9)), settings)
    assert found == wanted


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@given(seed=st.integers(0, 10**6))
def test_near_ties_are_left_to_the_rule(settings: SearchSettings, seed: int) -> None:
    found, wanted = both(Markov(tied_tables(seed, size=9), noise=1e-6), settings)
    assert found == wanted


@given(seed=st.integers(0, 10**6), longest=st.lists(st.integers(1, 6), min_size=4, max_size=4))
def test_every_source_has_its_own_limit(seed: int, longest: list[int]) -> None:
    requests = [Request(longest=one) for one in longest]
    found, wanted = both(Markov(random_tables(seed, size=9)), SearchSettings(beams=3, best=2), requests)
    assert found == wanted


def test_impossible_pieces_are_not_counted() -> None:
    tables = random_tables(3, size=9)
    tables[..., 4:] = -torch.inf
    found, wanted = both(Markov(tables), SearchSettings(beams=3, best=3))
    assert found == wanted


def test_what_is_no_number_is_an_error() -> None:
    tables = random_tables(0, size=9)
    tables[..., 8] = torch.nan
    with pytest.raises(ModelError, match="piece 8 in row"):
        search(Markov(tables), *texts(3, 4, 9, seed=0), SearchSettings(beams=2))


@pytest.mark.parametrize(
    ("changes", "request_"),
    [
        ({"method": "sample"}, Request()),
        ({"method": "diverse"}, Request()),
        ({"stop": "sure"}, Request()),
        ({"no_repeat": 2}, Request()),
        ({"coverage": 0.1}, Request()),
        ({"beams": 100}, Request()),
        ({}, Request(prefix=(5,))),
        ({}, Request(must=(((5,),),))),
        ({}, Request(avoid=((5,),))),
    ],
)
def test_who_asks_for_more_is_searched_beam_by_beam(changes: dict, request_: Request) -> None:
    model = Markov(random_tables(0, size=9))
    model.vocabulary = Vocabulary(500, 500, end=END)
    assert plain(model, SearchSettings(), [Request()], ())
    assert not plain(model, SearchSettings(**changes), [request_], ())
