"""A phrasebook that writes itself: everyday sentences with their German or Chinese translations.

The held-out part is made of combinations that training never shows: a word in a template, a word beside another word.
Every single word of it is known from training.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias, TypeVar

from regard.errors import ConfigError, unknown
from regard.files import write_atomically
from regard.starter.phrases.reserved import is_reserved, numbers
from regard.starter.phrases.sentences import Draft, Filling, Template, finished, templates, words_of

__all__ = ["PAIRS", "Phrasebook", "phrasebook", "possible", "write_phrasebook"]

PAIRS = ("en-de", "en-zh")

Sentences: TypeAlias = list[tuple[str, str]]
# A template and its fillings in the seed's order.
Shelf: TypeAlias = tuple[Template, list[Filling]]
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Phrasebook:
    """English sentences with their translations; none is in two parts, or twice in one."""

    pair: str
    train: Sentences
    valid: Sentences
    test: Sentences


def phrasebook(pair: str, size: int = 20_000, held_out: int = 500, seed: int = 0) -> Phrasebook:
    """`size` sentences to train on and `held_out` each to validate and test with, balanced over the templates.

    The same arguments give the same sentences everywhere: the order comes from hashes, not from a random generator.
    """
    languages = _languages(pair)
    _require_counts(size, held_out)
    shelves = [(template, _shuffled(list(template.fillings()), f"{seed} {template.name}")) for template in templates()]
    train = _train(_drafts(shelves, languages, reserved=False), size)
    held = _held_out(_drafts(shelves, languages, reserved=True), held_out, train)
    train, held = _shuffled(train, f"{seed} train"), _shuffled(held, f"{seed} held out")
    parts = [[finished(languages, draft) for draft in part] for part in (train, held[:held_out], held[held_out:])]
    return Phrasebook(pair, *parts)


def possible(pair: str) -> int:
    """How many different sentences the grammar can make."""
    _languages(pair)
    return sum(1 for template in templates() for _ in template.fillings())


def write_phrasebook(
    folder: Path, pair: str, size: int = 20_000, held_out: int = 500, seed: int = 0
) -> dict[str, Path]:
    """Writes train, valid and test, a file per language and a line per sentence; the paths by name (`train.de`)."""
    book = phrasebook(pair, size, held_out, seed)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for part, sentences in {"train": book.train, "valid": book.valid, "test": book.test}.items():
        for column, language in enumerate(_languages(pair)):
            path = paths[f"{part}.{language}"] = folder / f"{part}.{language}"
            with write_atomically(path) as file:
                file.writelines(f"{sentence[column]}\n".encode() for sentence in sentences)
    return paths


def _languages(pair: str) -> tuple[str, str]:
    if pair not in PAIRS:
        raise ConfigError(unknown("phrasebook", pair, PAIRS))
    source, target = pair.split("-")
    return source, target


def _require_counts(size: int, held_out: int) -> None:
    if size < 1:
        raise ConfigError(f"size = {size}: a phrasebook has at least 1 sentence to train on.")
    if held_out < 0:
        raise ConfigError(f"held_out = {held_out}: a part cannot have fewer than 0 sentences.")


def _drafts(shelves: list[Shelf], languages: tuple[str, str], reserved: bool) -> Iterator[Draft]:
    """The sentences of all templates in turn: those with a reserved combination, or those without.

    A template with more words to show has its turn more often; one that runs out is passed over.
    """
    turns = merge(*(_turns(*shelf, reserved) for shelf in shelves), key=itemgetter(0))
    return (template.draft(languages, filling) for _, template, filling in turns)


def _turns(template: Template, fillings: list[Filling], reserved: bool) -> Iterator[tuple[float, Template, Filling]]:
    words = sum(map(len, template.choices))
    wanted = (filling for filling in fillings if is_reserved(template, filling) is reserved)
    return ((turn / words, template, filling) for turn, filling in enumerate(wanted, 1))


def _train(drafts: Iterator[Draft], size: int) -> list[Draft]:
    train = list(islice(drafts, size))
    if len(train) < size:
        raise ConfigError(f"size = {size}: the grammar has {len(train)} sentences to train on. Ask for no more.")
    return train


def _held_out(drafts: Iterator[Draft], held_out: int, train: list[Draft]) -> list[Draft]:
    """Twice `held_out` drafts of which training shows every word."""
    sources, targets = (words_of(" ".join(texts)) for texts in zip(*train, strict=True))
    readable = (draft for draft in drafts if words_of(draft[0]) <= sources and words_of(draft[1]) <= targets)
    held = list(islice(readable, 2 * held_out))
    if len(held) < 2 * held_out:
        raise ConfigError(
            f"held_out = {held_out}: the words of {len(train)} training sentences make {len(held) // 2} unseen "
            "sentences for each held-out part. Ask for no more, or raise size."
        )
    return held


def _shuffled(things: list[Thing], name: str) -> list[Thing]:
    order = numbers(name, len(things))
    return [things[index] for index in sorted(range(len(things)), key=order.__getitem__)]
