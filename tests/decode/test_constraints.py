"""What must appear appears, what must not does not, and the receipt tells the truth."""

import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from regard.decode import Request, SearchSettings, search
from regard.decode.constraints import Must, shares
from regard.errors import RequestError
from tests.decode.toys import PAD, Markov, every_output, random_tables

SOURCE = torch.tensor([[3, 4], [3, 5], [5, 5]])
WORDS = st.integers(3, 5)
SEQUENCES = st.lists(WORDS, min_size=1, max_size=3).map(tuple)
ENTRIES = st.lists(st.lists(SEQUENCES, min_size=1, max_size=2).map(tuple), min_size=1, max_size=3).map(tuple)


def within(sequence: tuple[int, ...], pieces: tuple[int, ...]) -> bool:
    return any(pieces[at : at + len(sequence)] == sequence for at in range(len(pieces) - len(sequence) + 1))


def receipt(entries, pieces: tuple[int, ...]) -> tuple[bool, ...]:
    return tuple(any(within(sequence, pieces) for sequence in entry) for entry in entries)


@given(ENTRIES, st.lists(WORDS, max_size=9).map(tuple))
def test_what_has_appeared_is_what_stands_in_the_output(entries, pieces: tuple[int, ...]) -> None:
    assert Must(entries).appeared(pieces) == receipt(entries, pieces)


@examples(max_examples=6)
@given(ENTRIES, st.integers(0, 1000), st.integers(1, 6))
def test_all_that_must_appear_appears_in_every_complete_output(entries, seed: int, beams: int) -> None:
    requests = [Request(must=entries, longest=12), Request(longest=12), Request(must=entries[:1], longest=12)]
    model = Markov(random_tables(seed, sharpness=3.0))
    found = search(model, SOURCE, None, SearchSettings(beams=beams), requests, banned=(PAD,))
    for request, outputs in zip(requests, found, strict=True):
        assert outputs[0].met == receipt(request.must, outputs[0].pieces)
        assert all(outputs[0].met)


@examples(max_examples=6)
@given(ENTRIES, st.integers(0, 1000))
def test_a_wide_beam_finds_the_best_of_all_outputs_with_what_must_appear(entries, seed: int) -> None:
    model = Markov(random_tables(seed))
    settings = SearchSettings(beams=100, length="wu", stop="sure")
    found = search(model, SOURCE[:1], None, settings, [Request(must=entries, longest=4)], banned=(PAD,))[0][0]
    possible = [each for each in every_output(model, SOURCE[:1], 4, "wu") if all(receipt(entries, each[1]))]
    assert found.complete == bool(possible)
    if possible:
        assert (found.pieces, found.score) == (possible[0][1], pytest.approx(possible[0][0], abs=1e-5))


@examples(max_examples=5)
@given(st.lists(SEQUENCES, min_size=1, max_size=3).map(tuple), st.integers(0, 1000))
def test_a_wide_beam_finds_the_best_of_all_outputs_without_what_is_to_be_avoided(avoid, seed: int) -> None:
    model = Markov(random_tables(seed))
    settings = SearchSettings(beams=100, best=3, stop="sure")
    found = search(model, SOURCE[:1], None, settings, [Request(avoid=avoid, longest=4)], banned=(PAD,))[0]
    ways = every_output(model, SOURCE[:1], 4, "average")
    possible = [pieces for _, pieces in ways if not any(within(sequence, pieces) for sequence in avoid)]
    assert [each.pieces for each in found if each.complete] == possible[:3]


def test_the_receipt_tells_what_did_not_fit() -> None:
    entries = (((3,),), ((4, 4, 4, 4, 4),))
    model = Markov(random_tables(0))
    found = search(model, SOURCE[:1], None, SearchSettings(), [Request(must=entries, longest=3)], banned=(PAD,))[0][0]
    assert not found.complete
    assert found.met == receipt(entries, found.pieces) == (True, False)


def test_what_must_appear_and_be_avoided_at_once_ends_without_it() -> None:
    """Every word is blocked, so the output has to end, and says that the entry is missing."""
    request = Request(must=(((3, 3),),), avoid=((3,), (4,), (5,)))
    found = search(Markov(random_tables(0)), SOURCE[:1], None, SearchSettings(), [request], banned=(PAD,))[0][0]
    assert (found.pieces, found.complete, found.met) == ((), True, (False,))


def test_near_ties_among_constrained_hypotheses_come_out_the_same_alone_and_together() -> None:
    model = Markov(torch.zeros(3, 6, 6, 6).log_softmax(-1), noise=1e-6)
    requests = [Request(must=(((5, 4),), ((4, 3),)), longest=9)] * 3
    settings = SearchSettings(beams=4, best=2)
    together = search(model, SOURCE, None, settings, requests, banned=(PAD,))
    for row in range(3):
        single = search(model, SOURCE[row : row + 1], None, settings, requests[:1], banned=(PAD,))[0]
        assert [each.pieces for each in together[row]] == [each.pieces for each in single]


def test_a_prefix_may_meet_what_must_appear() -> None:
    request = Request(prefix=(5, 4), must=(((5, 4),),), longest=3)
    tables = random_tables(0)
    tables[..., 2] = 3.0
    found = search(Markov(tables.log_softmax(-1)), SOURCE[:1], None, SearchSettings(), [request], banned=(PAD,))[0][0]
    assert (found.pieces, found.met) == ((5, 4), (True,))


def test_sampling_refuses_what_must_appear() -> None:
    with pytest.raises(RequestError, match="use method = 'beam'"):
        search(Markov(random_tables(0)), SOURCE[:1], None, SearchSettings(method="sample"), [Request(must=(((3,),),))])


@given(st.dictionaries(st.integers(0, 9), st.integers(1, 9), min_size=1), st.integers(1, 20))
def test_slots_are_shared_without_loss_and_nobody_gets_more_than_they_can_use(available, slots: int) -> None:
    shared = shares(available, slots)
    assert sum(shared.values()) == min(slots, sum(available.values()))
    assert all(shared[bank] <= available[bank] for bank in available)
    assert slots < len(available) or all(shared.values())
