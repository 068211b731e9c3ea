"""One text as an encoder reads it: pieces between what opens and closes them, and windows where it is too long."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import torch
from jaxtyping import Bool, Int
from pydantic import NonNegativeInt, PositiveInt, model_validator
from torch import Tensor

from regard.errors import DataError, RequestError
from regard.tasks.grouping import GroupSettings
from regard.tasks.recipe import Recipe
from regard.text import Tokenizer, TokenizerSettings, Tokenizing, restored
from regard.text.vectors import first_words

FILE = "tokenizer.json"
# The same in a model that writes by another tokenizer, where its encoder goes on to read.
SOURCE = "source.tokenizer.json"
Long = Literal["window", "head", "tail", "refuse"]
# The tokenizers whose pieces are the words of a file of vectors.
BY_WORDS = "words", "spaced"


class LongSettings(GroupSettings):
    """What is done with a text of more than `longest` pieces: read it in overlapping windows, only its head, only its
    tail, or not at all. Without a number the length the model can read, or has seen in training."""

    long: Long = "window"
    longest: PositiveInt | None = None
    # How many pieces a window shares with the one before it.
    overlap: NonNegativeInt = 32


class ReadingRecipe(Recipe):
    """A recipe of a task with one tokenizer."""

    tokenizer: TokenizerSettings = TokenizerSettings()
    # So many words of the file of vectors, from its first, are known besides those of training.
    lexicon: NonNegativeInt = 0

    @model_validator(mode="after")
    def _words_of_vectors(self) -> Self:
        kind = self.tokenizer.kind
        if self.lexicon and self.vectors is None:
            raise ValueError(f"lexicon = {self.lexicon} asks for words of a file of vectors; give vectors.path.")
        if self.lexicon and kind not in BY_WORDS:
            raise ValueError(
                f"lexicon = {self.lexicon} makes words known, and tokenizer.kind = {kind!r} reads pieces of them. Set "
                f"tokenizer.kind to one of {', '.join(BY_WORDS)}, or leave lexicon out."
            )
        return self


@dataclass(frozen=True)
class Reading:
    """The tokenizer of a task that reads."""

    tokenizer: Tokenizing

    @classmethod
    def learn(cls, texts: Iterable[str], recipe: ReadingRecipe, start: Mapping[str, str]) -> "Reading":
        """A tokenizer for these texts and the words of the lexicon, or that of the model to go on from."""
        if start:
            return cls.load(start)
        return cls(Tokenizer.learn(recipe.tokenizer, texts, recipe.seed, _lexicon(recipe)))

    @classmethod
    def load(cls, files: Mapping[str, str]) -> "Reading":
        name = next((name for name in (FILE, SOURCE) if name in files), "")
        if not name:
            raise DataError(f"There is no {FILE}; the model cannot read text without it.")
        return cls(restored(files[name], name))

    def files(self) -> dict[str, str]:
        return {FILE: self.tokenizer.to_json()}

    @property
    def identity(self) -> str:
        """What the numbers of a prepared text depend on."""
        return hashlib.sha256(self.tokenizer.to_json().encode()).hexdigest()

    @property
    def around(self) -> int:
        """How many pieces open and close a text."""
        return len(self.tokenizer.opening) + len(self.tokenizer.closing)

    def wrapped(self, ids: Sequence[int]) -> list[int]:
        """Pieces as the encoder is given them."""
        return [*self.tokenizer.opening, *ids, *self.tokenizer.closing]

    def limited(self, ids: Sequence[int], long: Long, longest: int | None) -> list[int]:
        """The pieces of a training text, cut to its head or tail where it is too long."""
        room = None if longest is None else max(longest - self.around, 1)
        if room is None or len(ids) <= room:
            return list(ids)
        return list(ids[-room:] if long == "tail" else ids[:room])


def windows(length: int, room: int, overlap: int) -> list[tuple[int, int]]:
    """[start, end) of the windows a text of `length` pieces is read in, each of at most `room`; they cover all of it.

    >>> windows(10, 4, 1), windows(3, 4, 1), windows(0, 4, 1)
    ([(0, 4), (3, 7), (6, 10)], [(0, 3)], [(0, 0)])
    """
    step = max(room - min(overlap, room - 1), 1)
    starts = range(0, max(length - room, 0) + step, step) if length > room else [0]
    return [(min(start, max(length - room, 0)), min(start + room, length)) for start in starts]


def chosen(length: int, room: int, settings: LongSettings) -> list[tuple[int, int]]:
    """The windows that are read of a text: all, the first, the last; none if it is refused."""
    if length <= room:
        return [(0, length)]
    if settings.long == "window":
        return windows(length, room, settings.overlap)
    return {"head": [(0, room)], "tail": [(length - room, length)], "refuse": []}[settings.long]


def status(length: int, room: int, settings: LongSettings) -> tuple[str, ...]:
    """How a text of that length was read."""
    if not length:
        return ("empty",)
    if length <= room:
        return ("complete",)
    return ({"window": "windows", "head": "head", "tail": "tail", "refuse": "refused"}[settings.long],)


def too_long(text: str, length: int, longest: int | None) -> RequestError:
    """Why a text that is refused has no vector: none would be told from that of another."""
    return RequestError(
        f"A text of {length} pieces, {text[:40]!r}, is longer than {longest}; set predict.long to window, head or "
        "tail, or leave it out."
    )


def rectangle(
    rows: Sequence[Sequence[int]], padding: int, device: torch.device | str = "cpu"
) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Rows filled up to the longest, and which of it is real."""
    longest = max(map(len, rows))
    pieces = torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows], dtype=torch.long)
    real = torch.arange(longest) < torch.tensor([[len(row)] for row in rows])
    return pieces.to(device), real.to(device)


def _lexicon(recipe: ReadingRecipe) -> Iterable[str]:
    """The words of the lexicon, each as often as makes it known."""
    if recipe.vectors is None or not recipe.lexicon:
        return ()
    words = first_words(Path(recipe.data.root) / recipe.vectors.path, recipe.lexicon)
    return (" ".join([word] * recipe.tokenizer.least) for word in words)
