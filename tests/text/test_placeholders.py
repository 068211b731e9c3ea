"""Marks that survive translation, whatever the alignment."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.text import PATTERNS, Link, Mark, extract, restore
from regard.text.placeholders import placed, with_own

MARK = re.compile(r"</?[bi][^>]*>|<br>|\{\d+\}")
scraps = st.sampled_from(["Hund", "ist", " ", " ", ", ", ".", "(", ")", "北京", "。", '"', "\n", "5"])
signs = st.sampled_from(["<b>", "</b>", "<i>", "</i>", "<br>", "{0}", "{1}", "{2}"])
texts = st.lists(st.one_of(scraps, signs), max_size=14).map("".join)
outputs = st.lists(scraps, max_size=10).map("".join)
spans = st.tuples(st.integers(-1, 30), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1]))
some_links = st.lists(st.builds(Link, spans, spans, st.just(1.0)), max_size=8)


def identity(text: str) -> list[Link]:
    """Every word linked to itself."""
    return [Link(match.span(), match.span(), 1.0) for match in re.finditer(r"\S+", text)]


def by_words(source: str, output: str, pairs: str) -> list[Link]:
    ours, theirs = identity(source), identity(output)
    numbers = (map(int, pair.split("-")) for pair in pairs.split())
    return [Link(ours[one].source, theirs[other].target, 1.0) for one, other in numbers]


@given(texts, outputs, some_links)
@example("<b><i></b></i>", "Hund", [])
@example("</b><b>x</b>", "", [])
def test_every_mark_survives_exactly_once(text: str, output: str, links: list[Link]) -> None:
    extracted = extract(text)
    restored = restore(output, extracted.marks, links)
    assert Counter(MARK.findall(restored)) == Counter(MARK.findall(text)) == Counter(m.text for m in extracted.marks)
    assert "".join(MARK.sub("", restored).split()) == "".join(output.split())
    assert not MARK.search(extracted.text)


@given(texts, outputs, some_links)
@example("Hund <b>ist</b>.", "北京 Hund", [])
def test_every_character_of_text_is_found_again_among_the_marks(text: str, output: str, links: list[Link]) -> None:
    extracted = extract(text)
    rendered = placed(output, extracted.marks, links)
    for clean, places, whole in ((extracted.text, extracted.places, text), (output, rendered.places, rendered.text)):
        assert len(places) == len(clean)
        assert all(one <= other for one, other in pairwise(places))
        assert all(whole[place] == letter for letter, place in zip(clean, places, strict=True) if not letter.isspace())


@given(texts, outputs, some_links)
def test_pairs_stay_well_nested_and_marks_inside_them(text: str, output: str, links: list[Link]) -> None:
    marks = numbered(extract(text).marks)
    restored = MARK_NUMBER.findall(restore(output, marks, links))
    place = {int(number): order for order, number in enumerate(restored)}
    pairs = [(number, mark.partner) for number, mark in enumerate(marks) if (mark.partner or -1) > number]
    for first, last in pairs:
        assert place[first] < place[last]
        inside = set(restored[place[first] + 1 : place[last]])
        assert inside == {str(number) for number in range(first + 1, last)}


MARK_NUMBER = re.compile(r"#(\d+)#")


def numbered(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """The marks with their numbers written into them."""
    return tuple(
        Mark(f"{m.text[:2]}#{n}#", m.kind, m.place, m.share, m.before, m.after, m.apart, m.partner)
        for n, m in enumerate(marks)
    )


@given(texts, outputs, some_links)
@example("<b>a<i>b</b>c</i>", "x y z", [Link((0, 1), (4, 5), 1.0), Link((2, 3), (0, 1), 1.0)])
def test_what_was_opened_before_it_was_closed_stays_so(text: str, output: str, links: list[Link]) -> None:
    restored = restore(output, extract(text).marks, links)
    for name in "bi":
        if never_closed_first(text, name):
            assert never_closed_first(restored, name)


def never_closed_first(text: str, name: str) -> bool:
    depth = 0
    for sign in re.findall(f"</?{name}>", text):
        depth += -1 if "/" in sign else 1
        if depth < 0:
            return False
    return True


@given(texts, outputs.filter(lambda text: "  " not in text and "\n" not in text), some_links)
def test_no_space_is_doubled(text: str, output: str, links: list[Link]) -> None:
    assert "  " not in restore(output, extract(text).marks, links)


@given(st.lists(scraps).map("".join), some_links)
def test_without_marks_nothing_changes(text: str, links: list[Link]) -> None:
    assert extract(text).text == text
    assert restore(text, extract(text).marks, links) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Hello {name}, you have {count} messages.", "Hello, you have messages."),
        ("The <b>big</b> dog", "The big dog"),
        ("The <b>big <i>brown</i></b> dog <br/> sleeps.", "The big brown dog sleeps."),
        ("{greeting} world", "world"),
        ("Write to a.b+c@mail.example.org.", "Write to."),
        ("See https://example.org/a?b=c#d, or www.example.org.", "See, or."),
        ("你好{name}，请看https://example.org/x。", "你好，请看。"),
        ("one<br>two", "one two"),
        ("un<b>believ</b>able", "unbelievable"),
        ("%s of %(total)d is 100% sure, %5.2f", "of is 100% sure,"),
        ("${user} sees {{ item.name }}", "sees"),
        ("<b>{name}</b> <i>x</i>", "x"),
        ('("{a}" and <a href="x>y">z</a>)', '("" and z)'),
        ("file{n}.txt", "file.txt"),
        ("%1$s of %2$s files", "of files"),
        ("%@ has %ld and %-5lld points, %<name>s", "has and points,"),
        ("100 % of it, a 5% discount, 50%d, 100%% sure", "100 % of it, a 5% discount, 50%d, 100%% sure"),
        ("Hello %{name}, #{count} left!", "Hello, left!"),
        ("10&nbsp;km &amp; more &#8211; &#xA0;", "10 km more"),
        ("caf&eacute; in M&uuml;nchen, AT&T; R&D", "caf&eacute; in M&uuml;nchen, AT&T; R&D"),
        ("{items[0]} and {user[name].first} cost {sum:,.2f}", "and cost"),
        ("You have {n, plural, one {# file} other {{x} files}} left", "You have left"),
        ("A set {a, b} and {n, plural, one {", "A set {a, b} and {n, plural, one {"),
        ("(<b>dog</b>), cat", "(dog), cat"),
    ],
)
def test_text_comes_clean_and_goes_back_as_it_was(text: str, clean: str) -> None:
    extracted = extract(text)
    assert extracted.text == clean
    assert restore(clean, extracted.marks, identity(clean)) == text
    assert [mark.place for mark in extracted.marks] == sorted(mark.place for mark in extracted.marks)


@pytest.mark.parametrize(
    ("text", "output", "links", "expected"),
    [
        ("The <b>dog</b> sleeps.", "Es schläft der Hund.", "0-2 1-3 2-1", "Es schläft der <b>Hund.</b>"),
        ("a <b>red dog</b>, yes", "ja, ein roter Hund", "0-1 1-2 2-3 3-0", "ja, ein <b>roter Hund</b>"),
        ("<b>one</b> <i>two</i>", "zwei eins", "0-1 1-0", "<i>zwei</i> <b>eins</b>"),
        ("<b>one <i>two</i></b> three", "drei zwei eins", "0-2 1-1 2-0", "drei <b><i>zwei</i> eins</b>"),
        ("Hello {name}, come in", "Komm rein, hallo", "0-2 1-0 2-1", "Komm rein, hallo {name}"),
        ("Give {x} to me", "给我", "0-0 2-0", "给我{x}"),
        ("给{x}我", "Give me", "0-0", "Give {x} me"),
        ("Mail {x}.", "Schreib.", "0-0", "Schreib {x}."),
        ("Mail {x}.", "写。", "", "写{x}。"),
        ("{x} days left", "noch Tage übrig", "0-1 1-2", "noch {x} Tage übrig"),
        ("The ${p}€ price", "Preis von €", "1-2 2-0 0-1", "Preis von ${p}€"),
        ("<b>a b</b> <i>c d</i>", "1 2 3", "0-0 1-2 2-1 3-2", "<b>1 2 3</b> <i></i>"),
    ],
)
def test_marks_follow_the_words(text: str, output: str, links: str, expected: str) -> None:
    extracted = extract(text)
    assert restore(output, extracted.marks, by_words(extracted.text, output, links)) == expected


def test_without_links_marks_keep_their_share_of_the_way() -> None:
    extracted = extract("one two <b>three</b> four {x}")
    assert restore("eins zwei drei vier", extracted.marks, []) == "eins zwei <b>drei</b> vier {x}"
    assert restore("", extracted.marks, []) == "<b></b> {x}"


def test_tags_nested_a_thousand_times() -> None:
    text = "<b>" * 1500 + "x" + "</b>" * 1500
    assert restore("y", extract(text).marks, [Link((0, 1), (0, 1), 1.0)]) == text.replace("x", "y")


def test_patterns_can_be_added_and_left_out() -> None:
    text = "Hi @ann, {x}"
    assert [mark.kind for mark in extract(text, {**PATTERNS, "mention": r"@(\w+)"}).marks] == ["mention", "brace"]
    assert extract(text, {"mention": r"@\w+"}).text == "Hi, {x}"
    assert extract(text, {}).text == text
    with pytest.raises(ConfigError, match=r"placeholder mention = '@\(': not a regular expression"):
        extract(text, {"mention": "@("})


def test_patterns_of_ones_own_come_first() -> None:
    text = "Hi @ann {x} {x y}"
    found = extract(text, with_own([r"@\w+", r"\{[^{}]*\}"]))
    assert [(mark.text, mark.kind) for mark in found.marks] == [("@ann", "own 1"), ("{x}", "own 2"), ("{x y}", "own 2")]


@pytest.mark.parametrize(
    ("patterns", "why"),
    [
        (["@("], "own 1 = '@\\(': not a regular expression"),
        (["a", "b(?i)"], "own 2 = .* not a regular expression"),
        (["(?P<n>a)", "(?P<n>b)"], "own 2 = .* not a regular expression"),
        (["@*"], "own 1 = '@\\*' matches where nothing stands"),
        ([r"(\w)\1"], "own 1 = .* refers to a group by its number"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_named(patterns: list[str], why: str) -> None:
    with pytest.raises(ConfigError, match=f"placeholder {why}"):
        with_own(patterns)


ODD = ["%1$" * 7_000, "&a" * 10_000, "{a[" * 7_000, "{a,plural,{" * 2_000, "{a,plural," + "{{x y}" * 5_000]


@pytest.mark.parametrize(
    "text", [*ODD, "a" * 20_000, "<a " * 7_000, "%" * 20_000, "{" * 20_000, "<!--" * 5000, "a@" * 9_000]
)
def test_odd_texts_take_no_time(text: str) -> None:
    assert extract(text).text == text


def test_places_never_run_backwards() -> None:
    marks = extract("a {x} , {y}b <i> c").marks
    assert all(one.place <= other.place for one, other in pairwise(marks))
