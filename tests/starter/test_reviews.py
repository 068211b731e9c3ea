"""Reviews: three balanced classes, short and long texts, and a class that no single word tells."""

import math
import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from regard.errors import ConfigError
from regard.starter import reviews, write_reviews
from regard.starter.growing import part_of
from regard.starter.reviews import LABELS, LANGUAGES

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def train() -> Rows:
    return list(reviews.rows(1500, 0, "train"))


@pytest.fixture(scope="module")
def held_out() -> Rows:
    return list(reviews.rows(250, 0, "test"))


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def accuracy(predicted: list[str], rows: Rows) -> float:
    return sum(label == row["label"] for label, row in zip(predicted, rows, strict=True)) / len(rows)


def counted(text: str) -> str:
    """The class by the number of good and bad words."""
    kinds = LANGUAGES["en"].kinds.values()
    good, bad = ({word for kind in kinds for word in kind[which]} for which in ("good", "bad"))
    balance = len(words_of(text) & (good - bad)) - len(words_of(text) & (bad - good))
    return "positive" if balance > 0 else "negative" if balance < 0 else "neutral"


class Bayes:
    """Naive Bayes on the words that are there."""

    def __init__(self, rows: Rows) -> None:
        self.classes = Counter(row["label"] for row in rows)
        self.words = Counter((word, row["label"]) for row in rows for word in words_of(row["text"]))

    def __call__(self, text: str) -> str:
        return max(LABELS, key=lambda label: sum(self.evidence(word, label) for word in words_of(text)))

    def evidence(self, word: str, label: str) -> float:
        return math.log((self.words[word, label] + 1) / (self.classes[label] + 2))


def test_classes_are_balanced(train: Rows) -> None:
    counts = Counter(row["label"] for row in train)
    assert set(counts) == set(LABELS)
    assert max(counts.values()) < 1.15 * min(counts.values())


def test_texts_are_from_five_words_to_several_hundred_in_every_class(train: Rows) -> None:
    for label in LABELS:
        lengths = [len(row["text"].split()) for row in train if row["label"] == label]
        assert min(lengths) <= 5
        assert sum(length <= 20 for length in lengths) > 0.2 * len(lengths)
        assert sum(40 <= length <= 150 for length in lengths) > 0.2 * len(lengths)
        assert sum(length >= 300 for length in lengths) > 0.005 * len(lengths)


def test_length_does_not_tell_the_class(train: Rows) -> None:
    means = {
        label: sum(len(row["text"].split()) for row in train if row["label"] == label)
        / sum(row["label"] == label for row in train)
        for label in LABELS
    }
    assert max(means.values()) < 1.3 * min(means.values())


def test_counting_good_and_bad_words_is_not_enough(train: Rows) -> None:
    assert 0.4 < accuracy([counted(row["text"]) for row in train], train) < 0.75


def test_no_single_word_tells_the_class(train: Rows) -> None:
    """The best word of each class, alone: most reviews do not have it."""
    present = Counter((word, row["label"]) for row in train for word in words_of(row["text"]))
    sizes = Counter(row["label"] for row in train)
    for (word, label), count in present.items():
        others = [present[word, other] / sizes[other] for other in LABELS if other != label]
        assert count / sizes[label] - max(others) < 0.5, (word, label)


def test_a_bag_of_words_learns_much_and_not_all(train: Rows, held_out: Rows) -> None:
    bayes = Bayes(train)
    assert 0.6 < accuracy([bayes(row["text"]) for row in held_out], held_out) < 0.95


@pytest.mark.parametrize("language", LANGUAGES)
def test_training_shows_every_word_and_every_thing_that_is_held_out(language: str) -> None:
    tables = LANGUAGES[language]
    words, things = Counter(), Counter()
    for thing, kind in {pair for pairs in tables.domains.values() for pair in pairs}:
        for word in chain.from_iterable(tables.kinds[kind].values()):
            shown = part_of(f"{thing} {word}") == "train"
            words[kind, word] += shown
            things[thing] += shown
    assert min(words.values()) >= 1
    assert min(things.values()) >= 10


def test_chinese_reviews_are_chinese_and_as_varied() -> None:
    rows = list(reviews.rows(300, 0, "train", "zh"))
    lengths = [len(row["text"]) for row in rows]
    assert all(re.fullmatch(r"[\u4e00-\u9fff，。]+", row["text"]) for row in rows)
    assert min(lengths) < 10
    assert max(lengths) > 300
    assert set(Counter(row["label"] for row in rows)) == set(LABELS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_at_least_fifty_thousand_reviews_are_possible(language: str) -> None:
    assert reviews.possible(language) > 50_000


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_thing_that_can_be_judged_has_words_of_its_kind(language: str) -> None:
    tables = LANGUAGES[language]
    assert {kind for pairs in tables.domains.values() for _, kind in pairs} == set(tables.kinds)
    for kind, words in tables.kinds.items():
        assert set(words["good"]).isdisjoint(words["bad"]), kind
        assert min(map(len, words.values())) >= 5, kind


def test_a_table_has_a_header_and_two_columns(tmp_path: Path) -> None:
    header, *lines = write_reviews(tmp_path, 30, 5, 0, "zh")["train.tsv"].read_text("utf-8").splitlines()
    assert header == "text\tlabel"
    assert len(lines) == 30
    assert {line.split("\t")[1] for line in lines} <= set(LABELS)


def test_an_unknown_language_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'fr'"):
        reviews.rows(1, 0, "train", "fr")
