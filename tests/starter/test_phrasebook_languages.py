"""What holds for every sentence of the phrasebook in its language, read from the finished text."""

import re

import pytest

from regard.starter import phrasebook
from regard.starter.phrases.sentences import classes

SIZE = 2000
LATIN = re.compile(r"[A-Z][A-Za-zÄÖÜäöüßé ,.?'-]*[.?]")
HAN = re.compile(r"[\u4e00-\u9fff，。？]*[。？]")

LEXEMES = {word.key: word for words in classes().values() for word in words}.values()
NOUNS = [word for word in LEXEMES if len(word.forms["de"]) > 1 and word.forms["de"][1] in ("der", "der+", "die", "das")]
GENDER = {noun.forms["de"][0]: noun.forms["de"][1] for noun in NOUNS}
ARTICLES = {
    "der": {
        "der",
        "den",
        "dem",
        "ein",
        "einen",
        "einem",
        "zum",
        "vom",
        "im",
        "am",
        "beim",
        "dieser",
        "diesen",
        "diesem",
    },
    "die": {"die", "der", "eine", "einer", "zur", "diese", "dieser"},
    "das": {"das", "dem", "ein", "einem", "zum", "vom", "im", "am", "beim", "dieses", "diesem"},
}
EVERY_ARTICLE = "|".join(sorted(set().union(*ARTICLES.values())))


@pytest.fixture(scope="module")
def german() -> list[tuple[str, str]]:
    return phrasebook("en-de", SIZE, 10, seed=11).train


@pytest.fixture(scope="module")
def chinese() -> list[tuple[str, str]]:
    return phrasebook("en-zh", SIZE, 10, seed=11).train


def test_sentences_are_spaced_capitalized_and_ended(german: list[tuple[str, str]]) -> None:
    for sentences in german:
        for text in sentences:
            assert LATIN.fullmatch(text), text
            assert "  " not in text, text
            assert not re.search(r" [,.?]|[.?] [a-zäöü]", text), text


def test_chinese_has_no_spaces_and_its_own_punctuation(chinese: list[tuple[str, str]]) -> None:
    assert [target for _, target in chinese if not HAN.fullmatch(target)] == []


def test_a_question_stays_a_question(german: list[tuple[str, str]], chinese: list[tuple[str, str]]) -> None:
    for source, target in german + chinese:
        assert source.count("?") == target.count("?") + target.count("？"), (source, target)


def test_each_english_sentence_has_one_translation(german: list[tuple[str, str]]) -> None:
    others = phrasebook("en-de", 500, 2, seed=12).train
    both = set(german) | set(others)
    assert len(both) > len(german)
    assert len({source for source, _ in both}) == len(both)


def test_english_articles_fit_the_sound_after_them(german: list[tuple[str, str]]) -> None:
    found = [match for source, _ in german for match in re.findall(r"\b([Aa]n?) (\w)", source)]
    assert len(found) > 150
    assert {article for article, letter in found if letter in "aeiou"} == {"an"}
    assert {article for article, letter in found if letter not in "aeiou"} <= {"a", "A"}


@pytest.mark.parametrize("adjective", ["", r"[a-zäöüß]+e[nrs]? "])
def test_german_articles_have_the_gender_of_their_noun(german: list[tuple[str, str]], adjective: str) -> None:
    pattern = re.compile(rf"\b((?i:{EVERY_ARTICLE})) {adjective}([A-ZÄÖÜ][\w-]+)")
    found = [(match[1].lower(), match[2]) for _, target in german for match in pattern.finditer(target)]
    known = [(article, noun) for article, noun in found if noun in GENDER and (article, noun) != ("ein", "Uhr")]  # 1:00
    assert len(known) > 150
    wrong = {(article, noun) for article, noun in known if article not in ARTICLES[GENDER[noun].rstrip("+")]}
    assert wrong == set()


@pytest.mark.parametrize(
    ("preposition", "articles"),
    [("mit", {"dem", "der"}), ("für", {"den", "die", "das"}), ("gegenüber", {"dem", "der"})],
)
def test_german_prepositions_govern_their_case(
    german: list[tuple[str, str]], preposition: str, articles: set[str]
) -> None:
    found = {article for _, target in german for article in re.findall(rf"\b{preposition} (de[rnm]|die|das)\b", target)}
    assert found == articles


def test_german_adjectives_take_regular_endings(german: list[tuple[str, str]]) -> None:
    text = "\n".join(target for _, target in german)
    assert re.findall(r"\b[a-zäöüß]+ee[nrs]?\b|\bteuere[nrs]?\b", text) == []


def test_the_verb_ends_a_german_subordinate_clause(german: list[tuple[str, str]]) -> None:
    clauses = [
        match[1]
        for _, target in german
        for match in re.finditer(r"(?:weil|dass|[Ww]enn|Während|Bevor) [^,.?]* ([a-zäöüß]+)[,.?]", target)
    ]
    subordinate = sum(len(re.findall(r"\b(?:weil|dass|[Ww]enn|Während|Bevor)\b", target)) for _, target in german)
    assert len(clauses) == subordinate > 150
    assert all(verb.endswith(("t", "e", "n", "ss", "d")) for verb in clauses), set(clauses)


def test_chinese_nouns_are_counted_with_their_own_measure_word(chinese: list[tuple[str, str]]) -> None:
    nouns = sorted((noun for noun in NOUNS if len(noun.forms["zh"]) == 2), key=lambda noun: -len(noun.forms["zh"][0]))
    measure = {noun.forms["zh"][0]: noun.forms["zh"][1] for noun in nouns}
    pattern = re.compile(rf"[一这那两三四五六七八九十]([{''.join(set(measure.values()))}])({'|'.join(measure)})(?!票)")
    found = [match for _, target in chinese for match in pattern.findall(target)]
    assert len(found) > 100
    assert [(used, noun) for used, noun in found if used != measure[noun]] == []


def test_two_is_liang_before_a_measure_word_and_er_as_a_name(chinese: list[tuple[str, str]]) -> None:
    for source, target in chinese:
        if re.search(r"\btwo\b", source.lower()):
            named = "platform two" in source or "number two" in source
            assert ("二号" in target or "二路" in target) if named else "两" in target, (source, target)
