"""Multi30k cut into the pieces of one joint vocabulary and written as files that every peer can read.

A piece is written as a word, `p` and its number, so that no peer can mistake one for a space or a mark of its own.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.text import Tokenizing

# What OpenNMT-py calls our first four pieces: padding, begin, end, unknown. A vocabulary file that holds them is kept
# in its order, so numbers are the same everywhere.
SPECIAL = ("<blank>", "<s>", "</s>", "<unk>")
PARTS = {"train": "train", "valid": "val"}
SIDES = ("en", "de")


def word(number: int) -> str:
    return SPECIAL[number] if number < len(SPECIAL) else f"p{number}"


def vocabulary(path: Path, size: int) -> None:
    path.write_text("".join(f"{word(number)}\n" for number in range(size)))


def line(numbers: Iterable[int]) -> str:
    return " ".join(word(number) for number in numbers)


def write(data: Path, folder: Path, tokenizer: Tokenizing) -> None:
    """train.en, train.de, valid.en, valid.de and vocabulary.txt in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary(folder / "vocabulary.txt", len(tokenizer.pieces))
    for part, name in PARTS.items():
        for side in SIDES:
            texts = (data / f"{name}.{side}").read_text("utf-8").splitlines()
            (folder / f"{part}.{side}").write_text(lines(tokenizer, texts))


def lines(tokenizer: Tokenizing, texts: Sequence[str]) -> str:
    return "".join(f"{line(cut.ids)}\n" for cut in tokenizer.encode_many(texts))
