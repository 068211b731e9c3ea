"""A text cut by chance: without chance as ever, always the same text, and the same chance everywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.text import Tokenizer, TokenizerSettings
from tests.text.corpus import learned
from tests.text.test_tokenizers import texts

MERGING = ["bpe", "byte_bpe"]
SENTENCE = "the lowest of the newest and the widest river runs lower than the others do"


@pytest.mark.parametrize("kind", MERGING)
@given(batch=st.lists(texts, max_size=3))
def test_with_nothing_left_out_a_text_is_cut_as_ever(kind: str, batch: list[str]) -> None:
    tokenizer = learned(kind, lower=True, unicode="nfkc", extra=("<2de>", "<2d"))
    assert tokenizer.varied_many(batch, 0.0, seed=1, number=0) == tokenizer.ids_many(batch)


@pytest.mark.parametrize("kind", MERGING)
@given(text=texts, dropout=st.floats(0, 1), number=st.integers(0, 9))
def test_however_a_text_is_cut_it_is_the_same_text(kind: str, text: str, dropout: float, number: int) -> None:
    tokenizer = learned(kind, extra=("<2de>",))
    (ids,) = tokenizer.varied_many([text], dropout, seed=1, number=number)
    assert tokenizer.decode(ids, "?") == tokenizer.decode(tokenizer.encode(text).ids, "?")


@pytest.mark.parametrize("kind", MERGING)
def test_chance_is_of_the_text_the_seed_and_the_number(kind: str) -> None:
    tokenizer = Tokenizer.learn(TokenizerSettings(kind=kind, size=400), [SENTENCE] * 3, seed=1)

    def cut(text: str, seed: int, number: int) -> list[int]:
        return tokenizer.varied_many([text], 0.3, seed, number)[0]

    ways = {tuple(cut(SENTENCE, 1, number)) for number in range(8)}
    assert len(ways) > 4
    assert cut(SENTENCE, 1, 0) != cut(SENTENCE, 2, 0)
    both = tokenizer.varied_many(["low", SENTENCE], 0.3, seed=1, number=5)
    assert both == [cut("low", 1, 5), cut(SENTENCE, 1, 5)]


def test_with_all_left_out_only_characters_are_left() -> None:
    tokenizer = Tokenizer.learn(TokenizerSettings(size=400), [SENTENCE], seed=1)
    (ids,) = tokenizer.varied_many(["the newest"], 1.0, seed=1, number=0)
    assert [tokenizer.piece(token) for token in ids] == [*"▁the▁newest"]


def test_a_pair_is_passed_over_as_often_as_asked() -> None:
    tokenizer = Tokenizer.learn(TokenizerSettings(size=40), ["ab " * 40], seed=1)
    merges = [pair for pair in tokenizer.vocabulary.merges if "".join(pair) in "▁ab"]
    assert len(merges) == 2
    whole = sum(len(tokenizer.varied_many(["ab"], 0.25, 1, number)[0]) == 1 for number in range(2000))
    # The word is whole where both of its merges are kept, one after the other.
    assert whole / 2000 == pytest.approx(0.75**2, abs=0.04)


def test_what_has_no_merges_cannot_leave_any_out() -> None:
    tokenizer = Tokenizer.learn(TokenizerSettings(kind="words", size=40), [SENTENCE], seed=1)
    with pytest.raises(DataError, match="kind words has no merges"):
        tokenizer.varied_many(["a"], 0.1, seed=1, number=0)
