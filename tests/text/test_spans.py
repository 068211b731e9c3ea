"""Pieces merged into words."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.text import words
from tests.text.corpus import KINDS, LINES, learned

texts = st.lists(st.one_of(st.text(max_size=6), st.sampled_from([" ", "  ", "北京", "dog", "é", "👍🏽"]))).map("".join)


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
@example(text="")
@example(text="   ")
@example(text="  The dog ")
def test_every_piece_is_in_one_word_and_every_word_in_its_place(kind: str, text: str) -> None:
    encoded = learned(kind, unicode="nfkc").encode(text)
    found = words(text, encoded)
    assert [piece for word in found for piece in word.pieces] == list(range(len(encoded)))
    assert all(text[slice(*word.span)] == word.text for word in found)
    assert all(one.span[1] <= other.span[0] for one, other in pairwise(found))
    for word in found:
        for piece in word.pieces:
            start, end = encoded.spans[piece]
            assert text[start:end].strip() in word.text


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_what_stands_between_spaces(kind: str) -> None:
    text = "The  small dog, sleeps "
    found = words(text, learned(kind).encode(text))
    assert [word.text for word in found] == ["The", "small", "dog,", "sleeps"]
    assert [word.span for word in found] == [(0, 3), (5, 10), (11, 15), (16, 22)]


def test_chinese_characters_are_words_unless_one_piece_holds_several() -> None:
    text = "他们 dog家里。"
    single = words(text, learned("characters").encode(text))
    assert [word.text for word in single] == ["他", "们", "dog", "家", "里", "。"]
    merged = words("我们在北京", learned("bpe").encode("我们在北京"))
    assert "".join(word.text for word in merged) == "我们在北京"
    assert [word.text for word in merged] == [piece.strip("▁") for piece in learned("bpe").encode("我们在北京").pieces]


def test_one_character_of_many_pieces_is_one_word() -> None:
    found = words("a 👍 b", learned("byte_bpe").encode("a 👍 b"))
    assert [word.text for word in found] == ["a", "👍", "b"]
    assert len(found[1].pieces) > 1


def test_a_space_goes_with_the_word_after_it() -> None:
    found = words("a b ", learned("characters").encode("a b "))
    assert [word.pieces for word in found] == [(0,), (1, 2, 3)]


def test_a_word_of_several_pieces_holds_them_all() -> None:
    line = LINES[0]
    for word in words(line, learned("word_piece", size=270).encode(line)):
        assert word.pieces
