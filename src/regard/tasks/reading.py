"""One text as an encoder reads it: pieces between what opens and closes them, and windows where it is too long."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Int
from pydantic import NonNegativeInt, PositiveInt
from torch import Tensor

from regard.errors import DataError
from regard.tasks.grouping import GroupSettings
from regard.text import Tokenizer, TokenizerSettings, Tokenizing, restored

FILE = "tokenizer.json"
Long = Literal["window", "head", "tail", "refuse"]


class LongSettings(GroupSettings):
    """What is done with a text of more than `longest` pieces: read it in overlapping windows, only its head, only its
    tail, or not at all. Without a number the length the model can read, or has seen in training."""

    long: Long = "window"
    longest: PositiveInt | None = None
    # How many pieces a window shares with the one before it.
    overlap: NonNegativeInt = 32


@dataclass(frozen=True)
class Reading:
    """The tokenizer of a task that reads."""

    tokenizer: Tokenizing

    @classmethod
    def learn(cls, texts: Iterable[str], settings: TokenizerSettings, seed: int, start: Mapping[str, str]) -> "Reading":
        """A tokenizer for these texts, or that of the model to go on from."""
        return cls.load(start) if start else cls(Tokenizer.learn(settings, texts, seed))

    @classmethod
    def load(cls, files: Mapping[str, str]) -> "Reading":
        if FILE not in files:
            raise DataError(f"There is no {FILE}; the model cannot read text without it.")
        return cls(restored(files[FILE], FILE))

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


def rectangle(
    rows: Sequence[Sequence[int]], padding: int, device: torch.device | str = "cpu"
) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Rows filled up to the longest, and which of it is real."""
    longest = max(map(len, rows))
    pieces = torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows], dtype=torch.long)
    real = torch.arange(longest) < torch.tensor([[len(row)] for row in rows])
    return pieces.to(device), real.to(device)
