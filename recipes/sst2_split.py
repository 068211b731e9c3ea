"""Split SST-2's training phrases so that no phrase of a validation sentence is trained on.

    python recipes/sst2_split.py data/sst2 data/sst2-split

The training file holds sentences and the phrases they consist of, so that a random share of it is easy: what it holds
was trained on, cut otherwise. Here a seventh of the sentences, picked by a hash of their text, are validation, and
every phrase that stands in one of them and in no other sentence is left out of training, be it a single word: new
sentences bring new words. Settings can be chosen on this, and the dev file be kept for reporting.
"""

import csv
import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from regard.files import write_atomically

LEAST, SHARE = 4, 0.15


def rows(path: Path) -> list[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["sentence"].strip(), row["label"]) for row in csv.DictReader(file, delimiter="\t", quoting=3)]


def spans(text: str) -> Iterator[str]:
    """Every run of words in a text, itself included."""
    words = text.split()
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            yield " ".join(words[start:end])


def sentences(texts: Iterable[str]) -> set[str]:
    """The texts of some length that are part of no other."""
    texts = set(texts)
    inside = {span for text in texts for span in spans(text) if span != text}
    return {text for text in texts if len(text.split()) >= LEAST and text not in inside}


def held_out(text: str) -> bool:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") < SHARE * 2**32


def main() -> None:
    source, out = map(Path, sys.argv[1:])
    found = rows(source / "train.tsv")
    everything = sentences(text for text, _ in found)
    held = {text for text in everything if held_out(text)}
    elsewhere = {span for text in everything - held for span in spans(text)}
    parts = {
        "train": [row for row in found if row[0] in elsewhere],
        "valid": [row for row in found if row[0] in held],
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        lines = ("\t".join(row) + "\n" for row in [("sentence", "label"), *part])
        with write_atomically(out / f"{name}.tsv") as file:
            file.writelines(line.encode() for line in lines)
        print(f"{name}: {len(part):,} of {len(found):,} phrases")


if __name__ == "__main__":
    main()
