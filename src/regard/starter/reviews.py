"""Reviews of hotels, films, restaurants and phones that are positive, neutral or negative; English or Chinese.

The class is what the writer thinks in the end. Praise can hold a bad word ("not bad at all") and blame a good one, what
comes after "but" counts more, and what others say does not count, so that no single word tells the class.

Which word is said of which thing is divided between the parts: a held-out review has a pair that training never shows.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from regard.errors import ConfigError, unknown
from regard.starter.grammars.review_tables import ReviewTables
from regard.starter.grammars.reviews_chinese import CHINESE
from regard.starter.grammars.reviews_english import ENGLISH
from regard.starter.growing import Growth, Part, different, drawer, part_of, sentences, ways
from regard.starter.writing import parts, table, write

__all__ = ["LABELS", "LANGUAGES", "possible", "rows", "write_reviews"]

LABELS = ("positive", "neutral", "negative")
LANGUAGES: dict[str, ReviewTables] = {"en": ENGLISH, "zh": CHINESE}

# How many sentences, from and to, and out of a hundred reviews how many.
LENGTHS = {(1, 1): 30, (2, 5): 40, (6, 12): 22, (22, 36): 8}
MOST_OPINIONS = 6
OPPOSITE = {"positive": "negative", "negative": "positive"}


def rows(count: int, seed: int, part: Part, language: str = "en") -> Iterator[dict[str, str]]:
    """`count` different reviews: text and label."""
    tables, draw = _tables(language), drawer(seed, part)
    return different(lambda: _review(draw, tables, part), lambda row: row["text"], count)


def possible(language: str = "en") -> int:
    """How many different reviews there are of one opinion, alone or with a verdict after it."""
    tables = _tables(language)
    things = [tables.kinds[kind] | {"aspect": [name]} for pairs in tables.domains.values() for name, kind in pairs]
    opinions = {
        label: sum(ways(rules, clause) for rules in things for clause in clauses)
        for label, clauses in tables.clauses.items()
    }
    frames = len(set(tables.sentences))
    return sum(frames * number * (1 + len(tables.closings[label])) for label, number in opinions.items())


def write_reviews(
    folder: Path, size: int = 6000, held_out: int = 600, seed: int = 0, language: str = "en"
) -> dict[str, Path]:
    """Writes train, valid and test as tables with the columns text and label; the paths by name (`train.tsv`)."""
    made = parts(lambda count, part: rows(count, seed, part, language), size, held_out)
    return write(folder, {f"{part}.tsv": table(("text", "label"), made[part]) for part in made})


def _tables(language: str) -> ReviewTables:
    if language not in LANGUAGES:
        raise ConfigError(unknown("language", language, LANGUAGES))
    return LANGUAGES[language]


def _review(draw: Random, tables: ReviewTables, part: Part) -> dict[str, str]:
    label = draw.choice(LABELS)
    [(fewest, most)] = draw.choices(list(LENGTHS), weights=list(LENGTHS.values()))
    told = Reviewer(draw, tables, part).review(label, draw.randint(fewest, most))
    return {"text": sentences(tables.space.join(told)), "label": label}


class Reviewer:
    """The writer of one review, who judges nothing twice."""

    def __init__(self, draw: Random, tables: ReviewTables, part: Part) -> None:
        self.draw, self.tables = draw, tables
        self.domain = draw.choice(list(tables.domains))
        self.left = list(tables.domains[self.domain])
        # The part of the next pair of thing and word: a held-out review begins with one of its own.
        self.owner: Part = part

    def review(self, label: str, length: int) -> list[str]:
        """The sentences of a review."""
        if length == 1:
            return [self.opinion(label)]
        classes = self.classes(label, max(1, min(MOST_OPINIONS, length * 2 // 3)))
        closing = set(classes) != {label} or self.draw.random() < 0.6
        opinions = [self.opinion(each) if each == label else self.plain(each) for each in classes]
        last = [self.draw.choice(self.tables.closings[label])] if closing else []
        return self.among(opinions, self.asides(length - len(opinions) - len(last))) + last

    def classes(self, label: str, count: int) -> list[str]:
        """The classes of a review's opinions: most its own, or for a neutral one also as much praise as blame."""
        if label == "neutral":
            pairs = self.draw.randint(0, count // 2)
            classes = ["positive", "negative"] * pairs + ["neutral"] * (count - 2 * pairs)
        else:
            others = self.draw.randint(0, count // 3)
            classes = [OPPOSITE[label]] * others + [label] * (count - others)
        return self.draw.sample(classes, count)

    def opinion(self, label: str) -> str:
        """A sentence with one opinion, or with two of which the second prevails."""
        if self.draw.random() < 0.6:
            return self.plain(label)
        frame, (first, second) = self.draw.choice(list(self.tables.contrasts[label].items()))
        return frame.format(first=self.clause(first), second=self.clause(second))

    def plain(self, label: str) -> str:
        return self.draw.choice(self.tables.sentences).format(clause=self.clause(label))

    def clause(self, label: str) -> str:
        """An opinion of something not yet judged, in a pair of thing and word that its part may show."""
        while True:
            thing, kind = self.draw.choice(self.left)
            growth = Growth(self.draw, self.tables.kinds[kind] | {"aspect": [thing]})
            text = growth.any(self.tables.clauses[label])
            owners = {part_of(f"{thing} {word}") for slot, word in growth.kept.items() if slot != "aspect1"}
            if self.owner in owners and owners <= {self.owner, "train"}:
                self.left.remove((thing, kind))
                self.owner = "train"
                return text

    def asides(self, count: int) -> list[str]:
        """Sentences that say nothing about the writer's opinion."""
        growth = Growth(self.draw, self.tables.rules)
        texts = [*self.tables.hearsay, *self.tables.facts["any"], *self.tables.facts[self.domain]]
        return [growth(text) for text in self.draw.sample(texts, max(0, count))]

    def among(self, opinions: list[str], asides: list[str]) -> list[str]:
        """Opinions and asides in any order."""
        return self.draw.sample([*opinions, *asides], len(opinions) + len(asides))
