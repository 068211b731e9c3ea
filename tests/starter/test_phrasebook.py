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
from regard.starter.phrasebook import _held_out, _train
from regard.starter.phrases.reserved import are_kept_apart, is_kept_from, is_reserved
from regard.starter.phrases.sentences import LANGUAGES, Filling, Template, classes, finished, templates, words_of

WORD = re.compile(r"\w+(?:[-']\w+)*")
SIZE, HELD_OUT = 4000, 150
# Making all sentences takes a minute while signatures are checked.
SMALL = [template for template in templates() if sum(1 for _ in template.fillings()) < 400]

Origin = tuple[str, Template, Filling]


@pytest.fixture(scope="module")
def german() -> Phrasebook:
    return phrasebook("en-de", SIZE, HELD_OUT)


@pytest.fixture(scope="module")
def chinese() -> Phrasebook:
    return phrasebook("en-zh", SIZE, HELD_OUT)


@pytest.fixture(scope="module")
def made() -> list[Origin]:
    """Every English sentence of the small templates with what made it."""
    return [
        (finished(("en", "de"), template.draft(("en", "de"), filling))[0], template, filling)
        for template in SMALL
        for filling in template.fillings()
    ]


def english(sentences: list[tuple[str, str]]) -> set[str]:
    return {source for source, _ in sentences}


@pytest.mark.parametrize("pair", PAIRS)
def test_the_grammar_makes_more_than_enough_sentences(pair: str) -> None:
    assert possible(pair) > 200_000


def test_each_language_has_more_than_300_words(german: Phrasebook, chinese: Phrasebook) -> None:
    for column in (0, 1):
        assert len({word.lower() for pair in german.train for word in WORD.findall(pair[column])}) > 500
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
        assert used == {language: set(range(len(template.slots))) for language in LANGUAGES}, template.name


@pytest.mark.parametrize("pair", PAIRS)
def test_the_parts_have_the_asked_sizes_and_share_no_sentence(pair: str, request: pytest.FixtureRequest) -> None:
    book: Phrasebook = request.getfixturevalue({"en-de": "german", "en-zh": "chinese"}[pair])
    parts = [english(part) for part in (book.train, book.valid, book.test)]
    assert book.pair == pair
    assert [len(part) for part in (book.train, book.valid, book.test)] == [SIZE, HELD_OUT, HELD_OUT]
    assert [len(part) for part in parts] == [SIZE, HELD_OUT, HELD_OUT]
    assert all(first.isdisjoint(second) for first, second in combinations(parts, 2))


def test_both_languages_translate_the_same_english(german: Phrasebook, chinese: Phrasebook) -> None:
    assert english(german.train) == english(chinese.train)


def test_sentences_are_neither_short_nor_long(german: Phrasebook) -> None:
    lengths = [len(source.split()) for source, _ in german.train]
    assert 8 < sum(lengths) / len(lengths) < 14
    assert max(lengths) <= 20


def test_what_holds_a_reserved_combination_is_held_out_and_nothing_else(german: Phrasebook, made: list[Origin]) -> None:
    train, held = english(german.train), english(german.valid + german.test)
    found = [origin for origin in made if origin[0] in train | held]
    assert len(found) > 400
    assert {sentence for sentence, *origin in found if is_reserved(*origin)} == held & {origin[0] for origin in found}


def test_both_sides_of_a_reserved_combination_are_in_training(german: Phrasebook, made: list[Origin]) -> None:
    """A word kept from a template is in others, and the template is there with other words."""
    text = "\n".join(source.lower() for source, _ in german.train)
    train = english(german.train)
    shown = {template.name for sentence, template, _ in made if sentence in train}
    kept = [
        (template.name, word)
        for template in SMALL
        for words in template.choices
        for word in words
        if is_kept_from(template.name, word)
    ]
    assert len(kept) > 5
    assert {name for name, _ in kept} <= shown
    assert [word.english for _, word in kept if word.english.lower() not in text] == []


def test_few_of_the_pairs_of_words_are_kept_apart() -> None:
    pairs = [(noun, colour) for noun in classes()["wear"] + classes()["belonging"] for colour in classes()["colour"]]
    apart = [pair for pair in pairs if are_kept_apart(*pair)]
    assert 0 < len(apart) < len(pairs) / 8
    assert all(are_kept_apart(colour, noun) for noun, colour in apart)


def test_every_word_of_the_held_out_part_is_in_training(german: Phrasebook, chinese: Phrasebook) -> None:
    for column in (0, 1):
        known = {word for pair in german.train for word in WORD.findall(pair[column].lower())}
        held = {word for pair in german.valid + german.test for word in WORD.findall(pair[column].lower())}
        assert held <= known
    assert set("".join(target for _, target in chinese.valid + chinese.test)) <= set(
        "".join(target for _, target in chinese.train)
    )


def test_every_word_of_the_tables_is_shown_in_training(chinese: Phrasebook) -> None:
    """By the Chinese, which has one form for each."""
    text = "\n".join(target for _, target in chinese.train)
    plain = {lexeme.forms["zh"][0].replace(" ", "") for words in classes().values() for lexeme in words}
    assert {word for word in plain if "_" not in word and word not in text} == set()


def test_training_is_balanced_over_the_templates(german: Phrasebook, made: list[Origin]) -> None:
    origin = {sentence: template.name for sentence, template, _ in made}
    found = Counter(origin[source] for source, _ in german.train if source in origin)
    assert set(found) == {template.name for template in SMALL}
    assert min(found.values()) > 10
    assert max(found.values()) < 100


def test_the_same_seed_gives_the_same_sentences_and_another_gives_others() -> None:
    first = phrasebook("en-de", 300, 5, seed=1)
    assert first == phrasebook("en-de", 300, 5, seed=1)
    assert english(first.train) != english(phrasebook("en-de", 300, 5, seed=2).train)


@pytest.mark.parametrize(
    ("pair", "digest"),
    [
        ("en-de", "096224d0303024d9"),
        ("en-zh", "4fc7469bf03d5e47"),
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


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"size = 0: .* at least 1"):
        phrasebook("en-de", size=0)
    with pytest.raises(ConfigError, match=r"held_out = -1: .* fewer than 0"):
        phrasebook("en-de", held_out=-1)


def test_more_than_there_is_is_refused_with_what_there_is() -> None:
    drafts = [("a soup", "eine Suppe"), ("a salad", "ein Salat"), ("a soup", "ein Salat")]
    with pytest.raises(ConfigError, match=r"size = 4: the grammar has 3 sentences to train on"):
        _train(iter(drafts), 4)
    held = [*drafts, ("an egg", "ein Salat"), ("a salad", "ein Ei")]
    assert _held_out(iter(held), 1, drafts) == drafts[:2]
    with pytest.raises(ConfigError, match=r"held_out = 2: the words of 3 training sentences make 1 unseen"):
        _held_out(iter(held), 2, drafts)


def test_the_files_hold_the_sentences_a_line_each(tmp_path: Path) -> None:
    paths = write_phrasebook(tmp_path / "new" / "folder", "en-zh", 300, 4, seed=5)
    book = phrasebook("en-zh", 300, 4, seed=5)
    assert sorted(paths) == ["test.en", "test.zh", "train.en", "train.zh", "valid.en", "valid.zh"]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == sorted(paths)
    for part in ("train", "valid", "test"):
        texts = [[line.text for line in lines(paths[f"{part}.{language}"])] for language in ("en", "zh")]
        assert list(zip(*texts, strict=True)) == getattr(book, part)


@pytest.mark.slow
def test_the_whole_phrasebook_shows_every_word_many_times() -> None:
    book = phrasebook("en-zh")
    assert [len(english(part)) for part in (book.train, book.valid, book.test)] == [20_000, 500, 500]
    text = "\n".join(target for _, target in book.train)
    plain = {lexeme.forms["zh"][0].replace(" ", "") for words in classes().values() for lexeme in words}
    assert {word: text.count(word) for word in plain if "_" not in word and text.count(word) < 20} == {}


@pytest.mark.slow
def test_the_numbers_in_the_refusals_are_right() -> None:
    with pytest.raises(ConfigError, match=r"size = 1000000: the grammar has (\d+) sentences") as refused:
        phrasebook("en-de", size=1_000_000, held_out=1)
    trained = int(re.findall(r"has (\d+)", str(refused.value))[0])
    with pytest.raises(ConfigError, match="training sentences make") as refused:
        phrasebook("en-de", held_out=500_000)
    held = int(re.findall(r"make (\d+)", str(refused.value))[0])
    # A few reserved sentences hold a form that the 20,000 do not show.
    assert 0.95 < 2 * held / (possible("en-de") - trained) <= 1


@pytest.mark.slow
def test_no_english_sentence_of_the_whole_grammar_is_made_twice() -> None:
    """So each has one translation."""
    seen: set[str] = set()
    for template in templates():
        made = [finished(("en", "de"), template.draft(("en", "de"), filling))[0] for filling in template.fillings()]
        assert len(set(made)) == len(made), template.name
        assert seen.isdisjoint(made), template.name
        seen.update(made)
