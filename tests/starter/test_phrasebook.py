"""The phrasebook: how much there is, what is held out, and that it comes out the same everywhere."""

import hashlib
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from regard.errors import ConfigError
from regard.files import lines
from regard.starter import PAIRS, Phrasebook, phrasebook, possible, write_phrasebook
from regard.starter.phrases.reserved import are_kept_apart, is_kept_from, is_reserved
from regard.starter.phrases.sentences import LANGUAGES, Filling, Template, classes, finished, templates, words_of

WORD = re.compile(r"\w+(?:[-']\w+)*")
# Rendering all of them takes minutes while signatures are checked.
SMALL = [template for template in templates() if sum(1 for _ in template.fillings()) < 700]


@pytest.fixture(scope="module")
def german() -> Phrasebook:
    return phrasebook("en-de")


@pytest.fixture(scope="module")
def chinese() -> Phrasebook:
    return phrasebook("en-zh")


def origins(some: list[Template], sentences: set[str]) -> list[tuple[str, Template, Filling]]:
    """Which template and words made each of these English sentences."""
    made = [
        (finished(("en", "de"), template.draft(("en", "de"), filling))[0], template, filling)
        for template in some
        for filling in template.fillings()
    ]
    return [origin for origin in made if origin[0] in sentences]


def english(sentences: list[tuple[str, str]]) -> set[str]:
    return {source for source, _ in sentences}


@pytest.mark.parametrize("pair", PAIRS)
def test_the_grammar_makes_more_than_enough_sentences(pair: str) -> None:
    assert possible(pair) > 200_000


def test_each_language_has_more_than_300_words(german: Phrasebook, chinese: Phrasebook) -> None:
    for column in (0, 1):
        assert len({word.lower() for pair in german.train for word in WORD.findall(pair[column])}) > 600
    lexemes = {word.key: word for words in classes().values() for word in words}.values()
    for language in LANGUAGES:
        plain = {word for lexeme in lexemes for word in words_of(lexeme.forms[language][0])}
        assert len(plain) > 300, language


def test_all_sides_of_a_template_have_the_same_slots() -> None:
    for template in templates():
        used = {
            language: {slot for _, slots in pattern.holes for slot in slots}
            for language, pattern in template.patterns.items()
        }
        assert used == dict.fromkeys(LANGUAGES, set(range(len(template.slots)))), template.name


@pytest.mark.parametrize("pair", PAIRS)
def test_the_parts_have_the_asked_sizes_and_share_no_sentence(pair: str, request: pytest.FixtureRequest) -> None:
    book: Phrasebook = request.getfixturevalue({"en-de": "german", "en-zh": "chinese"}[pair])
    parts = [english(part) for part in (book.train, book.valid, book.test)]
    assert book.pair == pair
    assert [len(part) for part in (book.train, book.valid, book.test)] == [20_000, 500, 500]
    assert [len(part) for part in parts] == [20_000, 500, 500]
    assert all(first.isdisjoint(second) for first, second in combinations(parts, 2))


def test_both_languages_translate_the_same_english(german: Phrasebook, chinese: Phrasebook) -> None:
    assert english(german.train) == english(chinese.train)


def test_sentences_are_neither_short_nor_long(german: Phrasebook) -> None:
    lengths = [len(source.split()) for source, _ in german.train]
    assert 8 < sum(lengths) / len(lengths) < 14
    assert max(lengths) <= 20


def test_what_holds_a_reserved_combination_is_held_out_and_nothing_else(german: Phrasebook) -> None:
    train, held = english(german.train), english(german.valid + german.test)
    found = origins(SMALL, train | held)
    assert len(found) > 2000
    assert {sentence for sentence, *made in found if is_reserved(*made)} == held & {sentence for sentence, *_ in found}


def test_both_sides_of_a_reserved_combination_are_in_training(german: Phrasebook) -> None:
    """A word kept from a template is in others; a word kept from another stands beside others."""
    found = origins(SMALL, english(german.train))
    shown = {word.english for _, _, filling in found for word in filling}
    kept = [
        (template, word)
        for template in SMALL
        for words in template.choices
        for word in words
        if is_kept_from(template.name, word)
    ]
    assert len(kept) > 20
    assert {word.english for _, word in kept} <= shown
    assert {template.name for template, _ in kept} <= {template.name for _, template, _ in found}
    apart = [pair for pair in combinations(classes()["item"], 2) if are_kept_apart(*pair)]
    assert 0 < len(apart) < len(classes()["item"])


def test_every_word_of_the_held_out_part_is_in_training(german: Phrasebook, chinese: Phrasebook) -> None:
    for column in (0, 1):
        known = {word for pair in german.train for word in WORD.findall(pair[column].lower())}
        held = {word for pair in german.valid + german.test for word in WORD.findall(pair[column].lower())}
        assert held <= known
    assert set("".join(target for _, target in chinese.valid + chinese.test)) <= set(
        "".join(target for _, target in chinese.train)
    )


def test_every_word_of_the_tables_is_shown_many_times(chinese: Phrasebook) -> None:
    """By the Chinese, which has one form for each: the rarest still occurs in a score of training sentences."""
    text = "\n".join(target for _, target in chinese.train)
    plain = {lexeme.forms["zh"][0].replace(" ", "") for words in classes().values() for lexeme in words}
    rare = {word: text.count(word) for word in plain if "_" not in word and text.count(word) < 20}
    assert rare == {}


def test_training_is_balanced_over_the_templates(german: Phrasebook) -> None:
    found = Counter(template.name for _, template, _ in origins(SMALL, english(german.train)))
    assert set(found) == {template.name for template in SMALL}
    assert min(found.values()) > 40
    assert max(found.values()) < 400


def test_the_same_seed_gives_the_same_sentences_and_another_gives_others() -> None:
    first = phrasebook("en-de", 300, 5, seed=1)
    assert first == phrasebook("en-de", 300, 5, seed=1)
    assert english(first.train) != english(phrasebook("en-de", 300, 5, seed=2).train)


@pytest.mark.parametrize(
    ("pair", "digest"),
    [
        ("en-de", "?"),
        ("en-zh", "?"),
    ],
)
def test_the_sentences_are_the_same_on_every_machine_and_python(pair: str, digest: str) -> None:
    """After a change of words or templates: read the golden sentences, then put the new digest here."""
    book = phrasebook(pair, size=1000, held_out=20, seed=3)
    text = "\n".join("\t".join(sentences) for part in (book.train, book.valid, book.test) for sentences in part)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


def test_an_unknown_pair_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"Unknown phrasebook 'en-ed'\. Did you mean 'en-de'\?"):
        phrasebook("en-ed")
    with pytest.raises(ConfigError, match="Known: en-de, en-zh"):
        possible("fr-it")


def test_more_than_there_is_is_refused_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match=r"size = 0: .* at least 1"):
        phrasebook("en-de", size=0)
    with pytest.raises(ConfigError, match=r"held_out = -1: .* fewer than 0"):
        phrasebook("en-de", held_out=-1)
    with pytest.raises(ConfigError, match=r"held_out = 400: the words of 20 training sentences make \d+ unseen"):
        phrasebook("en-de", size=20, held_out=400)


def test_the_number_in_the_refusal_is_right() -> None:
    with pytest.raises(ConfigError, match=r"words of 200 training sentences make") as refused:
        phrasebook("en-de", size=200, held_out=50_000)
    most = int(re.search(r"make (\d+)", str(refused.value))[1])  # type: ignore[index]
    assert len(phrasebook("en-de", 200, most).test) == most
    with pytest.raises(ConfigError):
        phrasebook("en-de", 200, most + 1)


def test_the_files_hold_the_sentences_a_line_each(tmp_path: Path) -> None:
    paths = write_phrasebook(tmp_path / "new" / "folder", "en-zh", 300, 4, seed=5)
    book = phrasebook("en-zh", 300, 4, seed=5)
    assert sorted(paths) == ["test.en", "test.zh", "train.en", "train.zh", "valid.en", "valid.zh"]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == sorted(paths)
    for part in ("train", "valid", "test"):
        texts = [[line.text for line in lines(paths[f"{part}.{language}"])] for language in ("en", "zh")]
        assert list(zip(*texts, strict=True)) == getattr(book, part)


@pytest.mark.slow
def test_size_larger_than_the_grammar_is_refused_with_its_number() -> None:
    with pytest.raises(ConfigError, match=r"size = 1000000: the grammar has \d+ sentences to train on"):
        phrasebook("en-de", size=1_000_000, held_out=1)


@pytest.mark.slow
def test_no_english_sentence_of_the_whole_grammar_is_made_twice() -> None:
    """So each has one translation."""
    seen: set[str] = set()
    for template in templates():
        made = [finished(("en", "de"), template.draft(("en", "de"), filling))[0] for filling in template.fillings()]
        assert len(set(made)) == len(made), template.name
        assert seen.isdisjoint(made), template.name
        seen.update(made)
