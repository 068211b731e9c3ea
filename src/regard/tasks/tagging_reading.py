"""Sentences as a tagger reads them: the pieces of every word, its letters and its look, in rectangles."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt, UInt32
from torch import Tensor

from regard.data import Store
from regard.tasks.reading import Reading
from regard.tasks.tagging_words import LONGEST, Letters, look
from regard.text import Tokenizer

# More pieces than any text has, where a model may read as much as there is.
ENDLESS = 2**31


class Sentence(NamedTuple):
    """For every word its pieces, its letters (or nothing) and its look."""

    pieces: Sequence[Sequence[int]]
    letters: Sequence[Sequence[int]]
    looks: Sequence[int]

    def part(self, start: int, end: int) -> "Sentence":
        """The words from one to another."""
        return Sentence(self.pieces[start:end], self.letters[start:end], self.looks[start:end])

    @property
    def sizes(self) -> list[int]:
        """How many pieces each word has."""
        return list(map(len, self.pieces))


@dataclass(frozen=True)
class Words:
    """Words as a tagger's model is given them."""

    pieces: Int[Tensor, "B T"]
    real: Bool[Tensor, "B T"]
    letters: Int[Tensor, "B T L"] | None
    letters_real: Bool[Tensor, "B T L"] | None
    looks: Int[Tensor, "B T"] | None
    # Where each word's first piece is, and which of these are words.
    first: Int[Tensor, "B W"]
    words_real: Bool[Tensor, "B W"]

    def through(self, read: Any) -> Float[Tensor, "B W _"]:
        """What a tagger says of each word: itself its emissions, its `states` their states."""
        found: Tensor = read(
            self.pieces, self.real, self.letters, self.letters_real, self.looks, self.first, self.words_real
        )
        return found


@dataclass(frozen=True)
class WordReading:
    """How words become numbers: by the tokenizer, and by letters and looks where the model reads those."""

    reading: Reading
    letters: Letters | None
    looks: bool

    @property
    def identity(self) -> str:
        """What the numbers of a sentence depend on."""
        told = f"{self.reading.identity} {self.letters} {self.looks} {LONGEST}"
        return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()

    def read(self, sentences: Sequence[Sequence[str]], room: int = ENDLESS) -> list[Sentence]:
        """Every sentence, of a word at most so many pieces; each distinct word is cut once."""
        distinct, tokenizer = sorted(set(chain.from_iterable(sentences))), self.reading.tokenizer
        cut = tokenizer.encode_many(word[:LONGEST] for word in distinct)
        known = {
            word: self._word(word, found.ids[:room] or [tokenizer.unknown])
            for word, found in zip(distinct, cut, strict=True)
        }
        return [_sentence([known[word] for word in words]) for words in sentences]

    def _word(self, word: str, pieces: list[int]) -> tuple[list[int], list[int], int]:
        return pieces, self.letters.read(word) if self.letters else [], look(word) if self.looks else 0

    def columns(self, sentences: Sequence[Sentence]) -> dict[str, list[list[int]]]:
        """Sentences as columns of a store: what is of words stands flat, beside how much of it each word has."""
        return {
            "text": [self.flat(one) for one in sentences],
            "sizes": [one.sizes for one in sentences],
            "letters": [list(chain.from_iterable(one.letters)) for one in sentences],
            "lengths": [list(map(len, one.letters)) for one in sentences],
            "looks": [list(one.looks) for one in sentences],
        }

    def sentence(self, example: Mapping[str, Any]) -> Sentence:
        """The sentence of an example of a store."""
        return Sentence(
            list(_cut(example["text"][len(self.reading.tokenizer.opening) :], example["sizes"])),
            list(_cut(example["letters"], example["lengths"])),
            example["looks"].tolist(),
        )

    def flat(self, sentence: Sentence) -> list[int]:
        """All its pieces, between what opens and closes a text; at least one."""
        return self.reading.wrapped(list(chain.from_iterable(sentence.pieces))) or [self.reading.tokenizer.unknown]

    def tensors(self, sentences: Sequence[Sentence], device: torch.device) -> Words:
        """Sentences in rectangles."""
        flat = list(map(self.flat, sentences))
        pieces_BT, real_BT = rectangle(flat, self.reading.tokenizer.padding)
        first_BW, words_BW = rectangle([self._first(one) for one in sentences])
        owners_BT = self._owners(sentences, flat)
        letters_BTL = letters_real_BTL = looks_BT = None
        if self.letters:
            letters_BTL, letters_real_BTL = _letters(sentences, owners_BT)
        if self.looks:
            looks_BT = np.array([0, *chain.from_iterable(one.looks for one in sentences)])[owners_BT]
        arrays = (pieces_BT, real_BT, letters_BTL, letters_real_BTL, looks_BT, first_BW, words_BW)
        tensors: list[Any] = [None if array is None else torch.from_numpy(array).to(device) for array in arrays]
        return Words(*tensors)

    def _first(self, sentence: Sentence) -> list[int]:
        opening = len(self.reading.tokenizer.opening)
        return list(accumulate(sentence.sizes, initial=opening))[: len(sentence.pieces)]

    def _owners(self, sentences: Sequence[Sentence], flat: Sequence[Sequence[int]]) -> Int[np.ndarray, "B T"]:
        """For each piece the number of its word among all words of the batch, from 1; 0 for what belongs to none."""
        opening, number, rows = len(self.reading.tokenizer.opening), 1, []
        for sentence, pieces in zip(sentences, flat, strict=True):
            sizes = sentence.sizes
            row = np.zeros(len(pieces), np.int64)
            row[opening : opening + sum(sizes)] = np.repeat(np.arange(number, number + len(sizes)), sizes)
            number += len(sizes)
            rows.append(row.tolist())
        return rectangle(rows)[0]


def _sentence(words: Sequence[tuple[list[int], list[int], int]]) -> Sentence:
    return Sentence([word[0] for word in words], [word[1] for word in words], [word[2] for word in words])


def _letters(
    sentences: Sequence[Sentence], owners: Int[np.ndarray, "B T"]
) -> tuple[Int[np.ndarray, "B T L"], Bool[np.ndarray, "B T L"]]:
    """The letters of the word each piece belongs to."""
    letters_NL, real_NL = rectangle([[], *chain.from_iterable(one.letters for one in sentences)])
    return letters_NL[owners], real_NL[owners]


def rectangle(
    rows: Sequence[Sequence[int]], padding: int = Tokenizer.padding
) -> tuple[Int[np.ndarray, "B T"], Bool[np.ndarray, "B T"]]:
    """Rows filled up to the longest, at least one wide, and which of it is real."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    real = np.arange(max(int(lengths.max(initial=0)), 1)) < lengths[:, None]
    found = np.full(real.shape, padding, np.int64)
    found[real] = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
    return found, real


def _cut(flat: Any, sizes: Any) -> Iterator[list[int]]:
    values, start = flat.tolist(), 0
    for size in sizes.tolist():
        yield values[start : start + size]
        start += size


class Sentences:
    """Examples of a store, counted in pieces alone: what stands beside them is no length of a text."""

    columns = ("text",)

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def lengths(self) -> UInt32[np.ndarray, "N C"]:
        return self.store.lengths[:, :1]

    @property
    def folder(self) -> Path:
        return self.store.folder

    def __len__(self) -> int:
        return len(self.store)

    def __getitem__(self, index: int) -> dict[str, UInt[np.ndarray, " _"]]:
        return self.store[index]
