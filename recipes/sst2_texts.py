"""Texts for a teacher to label: the phrases of SST-2's training file, and variants with other words in them.

    python recipes/sst2_texts.py data/sst2/train.tsv data/glove/glove.6B.50d.txt data/sst2-texts.txt

A variant of a phrase has about a third of its words exchanged, each for one of the ten words nearest to it by GloVe's
vectors; the most frequent words, which hold a phrase together, stay. So the student meets words that no phrase of
training has, in places where they make sense, and the teacher, who knows them, says what becomes of the phrase (after
Tang et al. 2019, who exchange words by their part of speech).
"""

import csv
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from regard.files import write_atomically

SEED, VARIANTS, SHORTEST = 1, 1, 3
EXCHANGED, NEAREST, WORDS, FREQUENT, BLOCK = 0.3, 10, 100_000, 150, 1000


def phrases(path: Path) -> list[str]:
    """The texts of a file, each once."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(dict.fromkeys(row["sentence"].strip() for row in csv.DictReader(file, delimiter="\t", quoting=3)))


def vectors(path: Path) -> tuple[list[str], np.ndarray]:
    """The first words of a file of vectors, and their vectors at length 1."""
    with path.open(encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(" ") for line in islice(file, WORDS)]
    found = np.array([line[1:] for line in lines], dtype=np.float32)
    return [line[0] for line in lines], found / np.linalg.norm(found, axis=1, keepdims=True)


def neighbours(known: set[str], words: list[str], found: np.ndarray) -> dict[str, list[str]]:
    """The nearest words of each known word that has a vector, but for the most frequent; none is its own neighbour."""
    rows = [number for number, word in enumerate(words) if word in known and number >= FREQUENT]
    near = {}
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        places = np.argpartition(-(found[some] @ found.T), NEAREST + 1, axis=1)[:, : NEAREST + 1]
        for row, others in zip(some, places.tolist(), strict=True):
            near[words[row]] = [words[other] for other in sorted(others) if other != row][:NEAREST]
    return near


def variants(text: str, near: dict[str, list[str]], draw: np.random.Generator) -> Iterator[str]:
    words = text.split()
    if len(words) < SHORTEST:
        return
    for _ in range(VARIANTS):
        chances = draw.random(len(words))
        yield " ".join(
            str(draw.choice(near[word])) if chance < EXCHANGED and word in near else word
            for word, chance in zip(words, chances, strict=True)
        )


def main() -> None:
    source, glove, out = map(Path, sys.argv[1:])
    texts, draw = phrases(source), np.random.default_rng(SEED)
    near = neighbours({word for text in texts for word in text.split()}, *vectors(glove))
    made = dict.fromkeys(texts)
    for text in texts:
        made.update(dict.fromkeys(variants(text, near, draw)))
    with write_atomically(out) as file:
        file.writelines(f"{text}\n".encode() for text in made)
    print(f"{len(texts):,} phrases and {len(made) - len(texts):,} variants: {out}")


if __name__ == "__main__":
    main()
