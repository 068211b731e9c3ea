"""Encodings of toy size that other processes can import, and the corpus they are used on."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data import Corpus, CorpusSettings, Encoding
from regard.errors import DataError


def characters(texts: Mapping[str, Sequence[str]]) -> dict[str, list[list[int]]]:
    """Every character is a token."""
    return {name: [[ord(character) for character in text] for text in column] for name, column in texts.items()}


@dataclass(frozen=True)
class Slowly:
    """Characters, after a rest."""

    seconds: float

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> dict[str, list[list[int]]]:
        time.sleep(self.seconds)
        return characters(texts)


@dataclass(frozen=True)
class FailingAt:
    """Characters, until a text comes that is not borne."""

    text: str
    how: str

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> dict[str, list[list[int]]]:
        if self.text in texts["source"]:
            if self.how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise DataError("told") if self.how == "told" else ZeroDivisionError("a bug")
        return characters(texts)


def encoding(encode=characters, identity: str = "characters", vocabulary: int = 0x110000) -> Encoding:
    return Encoding(encode, ("source", "target"), vocabulary, identity)


def sentences(count: int) -> list[tuple[str, str]]:
    return [
        (f"source {'x' * (number % 7)} {number}", f"target {'ü' * (number % 5)}{number}") for number in range(count)
    ]


def corpus(folder: Path, pairs: list[tuple[str, str]], **options) -> Corpus:
    """A parallel corpus of these pairs, written anew only if it is not there."""
    for name, side in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        path = folder / f"train.{name}"
        content = "".join(f"{text}\n" for text in side).encode()
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
    files = {"source": str(folder / "train.en"), "target": str(folder / "train.de")}
    return Corpus(CorpusSettings(files=files), **options)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
