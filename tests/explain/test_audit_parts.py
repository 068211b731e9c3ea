"""What an audit is made of: exchanged weights, ranks, means, and the page, each against what is known of it."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from regard.errors import RequestError
from regard.explain.audit import Audit
from regard.explain.audit.finding import Word
from regard.explain.audit.leaning import Leaning, Share, Spread, leaning
from regard.explain.audit.means import Mean, mean, rank_correlation, ranked
from regard.explain.audit.page import form, page, text
from regard.explain.audit.report import Exchange, Heads, Idle, Order
from regard.explain.audit.shifting import Changed, Move, divergence, moved
from regard.explain.audit.verdict import judged
from tests.explain.toys import classifier, language, translator


@given(arrays(np.float64, st.integers(2, 8), elements=st.integers(0, 4)))
def test_an_order_agrees_with_itself_and_is_against_its_reverse(values: np.ndarray) -> None:
    if len(set(values.tolist())) == 1:
        assert rank_correlation(values, values) is None
        return
    assert rank_correlation(values, values) == pytest.approx(1)
    assert rank_correlation(values, -values) == pytest.approx(-1)


def test_equal_values_share_their_ranks() -> None:
    assert ranked(np.array([5.0, 1.0, 5.0, 7.0])).tolist() == [1.5, 0.0, 1.5, 3.0]


def test_a_mean_has_students_interval_and_skips_what_is_unknown() -> None:
    found = mean([1.0, None, 3.0])
    assert (found.value, found.texts) == (2.0, 2)
    assert found.error == pytest.approx(12.706)
    assert mean([None]) is None
    assert mean([0.5]) == Mean(0.5, None, 1)


def test_divergence_is_zero_for_the_same_and_one_for_nothing_in_common() -> None:
    rows = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.3, 0.7], [0.5, 0.5, 0.0, 0.0]])[:, None, None]
    assert divergence(rows[:1], rows[1:]).flatten().tolist() == pytest.approx([1.0, 0.0], abs=1e-6)


@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_exchanged_weights_stay_where_weight_may_be_and_sum_to_what_they_did(seed: int) -> None:
    toy, random = language(), torch.Generator().manual_seed(seed)
    weights = torch.rand(1, 2, 5, 5, generator=random).tril()
    change = Changed(toy, toy.looks[0], random)
    for towards in ("permuted", "uniform", "single"):
        new = change(weights, towards)
        assert not new.triu(1).any()
        torch.testing.assert_close(new.sum(-1), weights.sum(-1))
    permuted = change(weights, "permuted")
    torch.testing.assert_close(permuted.sort(-1).values, weights.sort(-1).values)


def test_moving_attention_nowhere_changes_nothing() -> None:
    toy = translator()
    found = moved(toy, [toy.looks[-1]], [Move("single", 0.0), Move("uniform", 1.0)], seed=0)
    assert found.change[0].abs().max() < 1e-6
    assert found.distance[0].max() < 1e-6
    assert found.change[1].abs().max() > 1e-4
    assert found.distance[1].min() > 1e-4


def test_one_head_alone_is_exchanged_where_one_is_chosen() -> None:
    toy = translator()
    weights = torch.rand(1, 2, 4, 5)
    new = Changed(toy, toy.looks[-1], torch.Generator().manual_seed(0), head=1)(weights, "uniform")
    assert torch.equal(new[:, 0], weights[:, 0])
    assert not torch.equal(new[:, 1], weights[:, 1])


def test_moves_are_the_same_however_many_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    toy, moves = classifier(), [Move("permuted"), Move("single", 0.5), Move("uniform")]
    whole = moved(toy, [toy.looks[-1]], moves, seed=3)
    monkeypatch.setattr("regard.explain.audit.shifting.MANY_WEIGHTS", 1)
    alone = moved(toy, [toy.looks[-1]], moves, seed=3)
    torch.testing.assert_close(whole.change, alone.change, atol=1e-6, rtol=0)
    torch.testing.assert_close(whole.distance, alone.distance, atol=1e-6, rtol=0)


def test_shares_are_of_what_they_say() -> None:
    def spread(weights: list[float], pieces: list[int]) -> Spread:
        return Spread(np.array(weights), np.array(pieces), np.array([False] * (len(pieces) - 1) + [True]), None)

    found = leaning(
        [spread([0.4, 0.1, 0.0, 0.0, 0.5], [5, 5, 5, 6, 2]), spread([0.0, 0.0, 0.0, 0.5, 0.5], [5, 7, 5, 5, 2])]
    )
    shares = (found.special, found.first, found.places["first quarter"], found.places["last quarter"])
    assert [share.weight for share in shares] == pytest.approx([0.5, 0.2, 0.4, 0.5])
    assert [share.evenly for share in shares] == pytest.approx([0.2, 0.2, 0.25, 0.25])
    assert sum(share.weight for share in found.frequencies.values()) == pytest.approx(1)
    assert found.distances == {}


def made(change: float, gain: Mean, first: float, words: tuple[str, ...] = (), source: str = "pooling") -> Audit:
    """An audit with these figures."""
    sure = Mean(0.1, 0.01, 20)
    even = Share(0.3, 0.25)
    four = dict.fromkeys(("a", "b", "c", "d"), even)
    return judged(
        Audit(
            source=source,
            judged="attention",
            texts=20,
            settings={"epsilon": 0.01, "seed": 0},
            orders={
                name: Order(Mean(value, 0.01, 20), sure)
                for name, value in {"attention": first, "random": 0.1, "reversed": 0.05}.items()
            },
            gain=gain,
            exchanges={name: Exchange(Mean(change, 0.001, 20), sure, 0.5) for name in ("permuted", "uniform")},
            distance=sure,
            farthest=sure,
            heads=Heads(
                {"pool, layer 0, head 0": 0.4, "pool, layer 0, head 1": 0.0},
                1,
                3,
                {"pool, layer 0, head 1": "the first piece: 90%, 10% if even"},
            ),
            leaning=Leaning(Share(0.9, 0.1), even, four, four, {}),
            idle=Idle(sure, tuple(Word(word, 0.5, 0.001) for word in words)),
        )
    )


SURE = Mean(0.3, 0.05, 20)


@pytest.mark.parametrize(
    ("change", "gain", "first", "trust"),
    [
        (0.3, SURE, 0.4, "yes"),
        (0.019, SURE, 0.4, "no"),
        (0.021, SURE, 0.4, "partly"),
        (0.3, SURE, 0.14, "partly"),
        (0.3, Mean(0.3, 0.31, 20), 0.4, "unclear"),
        (0.3, Mean(0.0, 0.04, 20), 0.1, "no"),
    ],
)
def test_the_verdict_follows_from_the_figures(change: float, gain: Mean, first: float, trust: str) -> None:
    found = made(change, gain, first)
    assert found.trust == trust
    assert "hurts 4.0 times" in " ".join(found.sentences) or first < 0.4 or trust in ("no", "unclear")
    assert any("leans towards marks" in sentence and "90%" in sentence for sentence in found.sentences)
    assert any("1 of 2 heads" in sentence for sentence in found.sentences)


class Tags(HTMLParser):
    """The tags of a page, and those left open."""

    def __init__(self, given: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []
        self.told = ""
        self.feed(given)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.told += data


NASTY = ("<script>alert(1)</script>", "a&b", "\x00\x1b[31m", "\u202eevil", "\ud800", '"><img src=x>', "\U0001f600")


def test_a_page_is_whole_and_needs_nothing_else() -> None:
    found = page(made(0.3, SURE, 0.4, NASTY, source="<b>pool</b>"))
    tags = Tags(found)
    assert not tags.open
    assert not {"script", "img", "link", "b"} & set(tags.seen)
    assert "http://" not in found
    assert "https://" not in found
    assert "url(" not in found
    assert "prefers-color-scheme: dark" in found
    assert "<script>alert(1)</script>" in tags.told
    assert all(sign not in found for sign in ("\x00", "\x1b", "\u202e"))
    found.encode()


@given(st.text())
def test_no_word_breaks_a_form(word: str) -> None:
    found = made(0.3, SURE, 0.4, (word,), source=word)
    assert not Tags(page(found)).open
    text(found).encode()
    plain = json.loads(form(".json")(found))
    assert plain["idle"]["words"][0]["text"] == word


def test_the_text_begins_with_the_answer() -> None:
    first = text(made(0.3, SURE, 0.4)).splitlines()[0]
    assert first == "Is attention an explanation for this model? Yes."


def test_an_unknown_ending_is_refused_with_those_there_are() -> None:
    with pytest.raises(RequestError, match=r"as \.pdf; use \.html, \.json or \.txt"):
        form(".pdf")


def test_what_was_left_out_is_told() -> None:
    found = replace(made(0.3, SURE, 0.4), left_out=3, reason="The text is too long.")
    assert "3 were left out, such as: The text is too long." in text(found)
