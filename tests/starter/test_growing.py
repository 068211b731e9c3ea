"""Texts grown from rules: holes, kept words, counts of what is possible, and marks."""

from collections import Counter
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.starter.growing import Growth, different, drawer, grown_pair, part_of, sentences, ways
from regard.starter.marks import unmarked

RULES = {
    "day": ["Monday", "Friday", "Sunday"],
    "when": ["on {day}", "today"],
    "work:Monday": ["mow"],
    "work:Friday": ["rest"],
}


def test_a_hole_is_filled_from_its_table_and_the_tables_it_names() -> None:
    texts = {Growth(Random(seed), RULES)("Come {when}!") for seed in range(50)}
    assert texts == {"Come on Monday!", "Come on Friday!", "Come on Sunday!", "Come today!"}


@given(st.integers())
def test_a_numbered_hole_keeps_its_word_and_shares_it_with_no_other(seed: int) -> None:
    first, again, second, third = Growth(Random(seed), RULES)("{day1} {day1} {day2} {day3}").split()
    assert first == again
    assert {first, second, third} == set(RULES["day"])


def test_a_hole_can_depend_on_a_kept_word() -> None:
    growths = [Growth(Random(seed), RULES | {"day": ["Monday", "Friday"]}) for seed in range(20)]
    assert {growth("{day1}: {work:day1}") for growth in growths} == {"Monday: mow", "Friday: rest"}


@pytest.mark.parametrize("text", ["{day}", "{when} {day}", "{day1} {day1}", "{day1} {day2}", "{day1} {day2} {when}"])
def test_ways_is_the_number_of_different_texts(text: str) -> None:
    assert ways(RULES, text) == len({Growth(Random(seed), RULES)(text) for seed in range(3000)})


@pytest.mark.parametrize(
    ("draft", "text"),
    [
        ("a owl met a bee. a apple fell!", "An owl met a bee. An apple fell!"),
        ('he said, "An egg." then he left.', 'He said, "An egg." Then he left.'),
        ('"why?" asked Ann.', '"Why?" asked Ann.'),
        ("a [what:old map] lay there. [who:she] left.", "An [what:old map] lay there. [who:She] left."),
        ("房间很干净。", "房间很干净。"),
    ],
)
def test_sentences_have_capitals_and_articles(draft: str, text: str) -> None:
    assert sentences(draft) == text


words = st.text("abc", min_size=1, max_size=4)


@given(st.lists(st.tuples(words, st.sampled_from(["", "PER", "LOC"]))))
def test_marks_come_out_where_their_words_stand(pieces: list[tuple[str, str]]) -> None:
    text = " ".join(f"[{kind}:{word}]" if kind else word for word, kind in pieces)
    plain, marks = unmarked(text)
    assert plain == " ".join(word for word, _ in pieces)
    assert [(plain[mark.start : mark.end], mark.kind) for mark in marks] == [piece for piece in pieces if piece[1]]


def test_about_a_tenth_of_combinations_belongs_to_each_held_out_part() -> None:
    owners = Counter(part_of(f"{first} {second}") for first in range(60) for second in range(60))
    assert owners["train"] == pytest.approx(2880, rel=0.05)
    assert owners["valid"] == pytest.approx(360, rel=0.2)
    assert owners["test"] == pytest.approx(360, rel=0.2)


@given(st.integers(), st.sampled_from(["train", "valid", "test"]))
def test_a_pair_is_of_the_part_asked_for(seed: int, part: str) -> None:
    rules = {"a": [str(number) for number in range(20)], "b": [str(number) for number in range(20)]}
    assert part_of("x: " + grown_pair(Random(seed), rules, "x", "{a1} {b1}", part)("{a1} {b1}")) == part


def test_a_pair_that_no_part_has_is_an_error_and_not_an_endless_search() -> None:
    with pytest.raises(ConfigError, match="Give its tables more words"):
        grown_pair(Random(0), {"a": ["one"]}, "x", "{a1}", "valid" if part_of("x: one") != "valid" else "test")


def test_a_grammar_that_gives_out_says_how_much_it_gave() -> None:
    draw = Random(0)
    assert sorted(islice(different(lambda: draw.randrange(5), int, 5), 5)) == [0, 1, 2, 3, 4]
    with pytest.raises(ConfigError, match="count = 6: the grammar has given 5 different rows"):
        list(different(lambda: draw.randrange(5), int, 6))


def test_parts_draw_differently_and_a_negative_count_is_refused() -> None:
    with pytest.raises(ConfigError, match="fewer than 0"):
        different(lambda: 0, int, -1)
    assert drawer(0, "valid").random() != drawer(0, "test").random()
