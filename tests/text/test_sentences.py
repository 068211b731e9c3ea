"""Sentences by a stated rule, and parts that fit."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.text import parts, sentences

SPACED = 'He left. |Dr. |3. Mai|z.B. |No! |ja|Ja, so| |\n|\r\n|...|“|"|(|)|, '
TIGHT = "你好|。|！”|，|；|👍🏽|e\u0301\u0323|👨\u200d👩\u200d👧|🇺🇸|\ud83d\ude00|xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
SCRAPS = [*SPACED.split("|"), *TIGHT.split("|")]
texts = st.lists(st.one_of(st.sampled_from(SCRAPS), st.text(max_size=3)), max_size=12).map("".join)


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@given(texts)
@example("")
@example(" \n ")
@example("\n\na\n\n")
def test_sentences_are_the_text(text: str) -> None:
    assert "".join(cut(text)) == text
    assert all(sentence.strip() for sentence in cut(text)) or not text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "He left. |She stayed.",
        "Really? he asked. |Yes!",
        'He said "Go." |Then he left.',
        "„Nein.“ |Dann ging er.",
        "»Ja.« |Er blieb.",
        "Wait... |What?! |Yes… |“No.”",
        "(It rained.) |¿Qué? |¡Sí!",
        "It was 1999. |Then came 2000.",
        "One.\n|two\n\n|three",
        "Dr. Roth und Prof. Kern kamen am 3. Mai. |Sie blieben.",
        "Das ist z.B. Wasser, d. h. H2O. |Gut.",
        "The U.S. Army and J. S. Bach. |Fine.",
        "Ludwig XIV. Haus steht. |Ja.",
        "See No. 5 and Fig. 300. |No. |I will not.",
        "He paid $3.50 for v1.2.3 at shop.example. |Done.",
        "End. |– Dash. |- Hyphen. |5 apples.",
        "他来了。|你呢？|好！|走；|再见",
        "他说：“你好。”|他走了。",
        '他说："你好。"|他走了。',
        "「本当？」|はい。  |そうです。",
        "真的!|好",
        "هل أنت؟ |نعم.",
        "   Leading.  |Trailing.  ",
    ],
)
def test_the_rule(text: str) -> None:
    assert "|".join(cut(text.replace("|", ""))) == text


@given(texts, st.integers(1, 25))
def test_parts_and_what_is_between_them_are_the_text(text: str, most: int) -> None:
    found = parts(text, lambda part: len(part) <= most)
    ends = [0, *(place for span in found for place in span), len(text)]
    gaps = [text[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]
    assert "".join(gap + text[slice(*span)] for gap, span in zip(gaps, [*found, (0, 0)], strict=True)) == text
    assert all(not gap.strip() for gap in gaps)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in found)
    assert all(len(part) <= most or whole(part) for part in (text[start:end] for start, end in found))


def whole(part: str) -> bool:
    """Whether no character of the part but the first could stand at the start of another."""
    joined = pairwise(part)
    return all(
        unicodedata.category(after) in ("Mn", "Mc", "Me", "Sk", "Cs", "Cf")
        or before == "\u200d"
        or after >= "\U0001f1e6"
        for before, after in joined
    )


@given(texts, st.integers(4, 40))
def test_sentences_that_fit_are_never_cut(text: str, most: int) -> None:
    found = parts(text, lambda part: len(part) <= most)
    inside = {place for start, end in found for place in range(start + 1, end)}
    ends = {end for _, end in found}
    for start, end in sentences(text):
        if len(text[start:end].strip()) <= most:
            assert not ends & set(range(start + 1, end)) - {start + len(text[start:end].rstrip())}
    assert inside | ends | {start for start, _ in found} >= {i for i, c in enumerate(text) if not c.isspace()}


def test_sentences_are_joined_as_long_as_they_fit() -> None:
    text = "One. Two. Three. Four."
    assert [text[start:end] for start, end in parts(text, lambda part: len(part) <= 11)] == [
        "One. Two.",
        "Three.",
        "Four.",
    ]
    assert parts(text, lambda _: True) == [(0, len(text))]


def test_lines_are_not_joined() -> None:
    assert parts("a\nb c\n\n", lambda _: True) == [(0, 1), (2, 5)]


def test_sentences_may_stand_alone_however_many_would_fit() -> None:
    text = "Wer? Er kam.  Sie, die nie kam, kam.\n"
    found = [text[start:end] for start, end in parts(text, lambda part: len(part) <= 20, join=False)]
    assert found == ["Wer?", "Er kam.", "Sie, die nie kam,", "kam."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Eins, zwei, drei vier fünf sechs", ["Eins, zwei,", "drei vier", "fünf sechs"]),
        ("1,000,000,000 items here", ["1,000,000,00", "0 items here"]),
        ("一二三，四五六七八九十一二三四五六七八", ["一二三，", "四五六七八九十一二三四五", "六七八"]),
        ("abcdefghijkle\u0301x", ["abcdefghijkl", "e\u0301x"]),
        ("👨\u200d👩\u200d👧" * 3, ["👨\u200d👩\u200d👧" * 2, "👨\u200d👩\u200d👧"]),
    ],
)
def test_a_sentence_that_does_not_fit_is_cut_where_it_hurts_least(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in parts(text, lambda part: len(part) <= 12)] == expected


def test_a_character_that_does_not_fit_stands_alone() -> None:
    text = "ab e\u0301\u0302"
    assert [text[start:end] for start, end in parts(text, lambda _: False)] == ["a", "b", "e\u0301\u0302"]


def test_a_long_text_is_not_read_again_and_again() -> None:
    read = 0

    def fits(part: str) -> bool:
        nonlocal read
        read += len(part)
        return len(part) <= 100

    found = parts("x" * 6_000 + " " + "word " * 1_200 + "A b. " * 1_200, fits)
    assert all(one[1] <= other[0] for one, other in pairwise(found))
    assert read < 60 * 18_000
