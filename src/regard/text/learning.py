"""What tokenizers learn from: a seeded sample of lines, and the characters worth knowing."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import Model
from tokenizers.pre_tokenizers import PreTokenizer
from tokenizers.trainers import Trainer


def reservoir(lines: Iterable[str], size: int, seed: int) -> tuple[list[str], int]:
    """At most `size` lines, every line equally likely, in the order they came; and how many there were.

    >>> reservoir("abcdefgh", size=3, seed=0)
    (['b', 'f', 'g'], 8)
    """
    draw = random.Random(seed)
    kept: list[tuple[int, str]] = []
    number = -1
    for number, line in enumerate(lines):
        place = number if number < size else draw.randrange(number + 1)
        if place >= size:
            continue
        kept[place : place + 1] = [(number, line)]
    return [line for _, line in sorted(kept)], number + 1


def frequent(texts: Iterable[str], room: int, least: int) -> tuple[list[str], set[str]]:
    """The most frequent characters for which there is room, and those left out; ties in Unicode order.

    >>> frequent(["abba", "cab"], room=2, least=1)
    (['a', 'b'], {'c'})
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    ordered = sorted(counts, key=lambda character: (-counts[character], character))
    kept = [character for character in ordered if counts[character] >= least][: max(room, 0)]
    return kept, counts.keys() - set(kept)


def without(texts: list[str], characters: set[str]) -> list[str]:
    """The texts with these characters taken out."""
    if not characters:
        return texts
    table = {ord(character): None for character in characters}
    return [text.translate(table) for text in texts]


def trained(model: Model, splitter: PreTokenizer, trainer: Trainer, texts: Iterable[str]) -> dict[str, Any]:
    """What a trainer of the tokenizers library makes of the texts, as the library writes it down."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = splitter
    tokenizer.train_from_iterator(texts, trainer)
    written: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return written
