"""Running text as a language model learns from it: a long stream of pieces, cut into blocks of equal length.

stream   <begin> a b c <end> <begin> d e <end> ...      rows one after the other
block    length + 1 pieces; the first `length` are read, and after each of them the next one is wanted
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Int, Int64, Integer, UInt, UInt32
from pydantic import PositiveInt, model_validator
from torch import Tensor

from regard.config import Settings
from regard.data import Store, padded
from regard.data.manifest import PIECES
from regard.nn import IGNORE, Loss
from regard.text import Tokenizing

COLUMN = "text"


class BlockSettings(Settings):
    """Blocks in which `length` pieces are predicted, one beginning every `stride` pieces; by default every `length`."""

    length: PositiveInt = 128
    stride: PositiveInt | None = None
    # No block goes beyond its row: rows have nothing to do with each other.
    within: bool = False
    # Each row begins and ends with a piece that says so; false, where rows are cut out of one long text.
    ends: bool = True

    @model_validator(mode="after")
    def _covers(self) -> Self:
        if self.stride is not None and self.stride > self.length:
            raise ValueError(f"stride = {self.stride} skips text between blocks of length {self.length}; lower it")
        return self

    @property
    def step(self) -> int:
        return self.stride or self.length


@dataclass(frozen=True)
class Framing:
    """How a text stands in the stream. Where one piece both begins and ends texts, it stands between them once."""

    tokenizer: Tokenizing
    settings: BlockSettings

    @property
    def opening(self) -> tuple[int, ...]:
        """What stands before a row in the stream."""
        once = self.tokenizer.begin == self.tokenizer.end and not self.settings.within
        return () if once or not self.settings.ends else (self.tokenizer.begin,)

    @property
    def closing(self) -> tuple[int, ...]:
        return (self.tokenizer.end,) if self.settings.ends else ()

    def framed(self, ids: Sequence[int]) -> list[int]:
        """The pieces of a row in the stream."""
        return [*self.opening, *ids, *self.closing]

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[Sequence[int]]]:
        return {COLUMN: [self.framed(cut.ids) for cut in self.tokenizer.encode_many(texts[COLUMN])]}


class Blocks:
    """The blocks of a store as examples: slices of its file, found by arithmetic."""

    columns = (COLUMN,)

    def __init__(self, store: Store, settings: BlockSettings) -> None:
        self.store, self.settings = store, settings
        # A store of one column is its rows, one after the other.
        path = store.folder / PIECES
        self._stream = np.memmap(path, store.manifest.piece, "r") if store.manifest.pieces else np.empty(0, np.uint16)
        rows = store.lengths[:, 0].astype(np.int64) if settings.within else np.array([store.manifest.pieces])
        self.starts, sizes = cut(rows, settings.length, settings.step)
        self.lengths: UInt32[np.ndarray, "N 1"] = sizes.astype(np.uint32)[:, None]

    @property
    def folder(self) -> Path:
        return self.store.folder

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> dict[str, UInt[np.ndarray, " _"]]:
        start, size = int(self.starts[index]), int(self.lengths[index, 0])
        return {COLUMN: self._stream[start : start + size]}


def cut(
    rows: Int64[np.ndarray, " R"], length: int, step: int
) -> tuple[Int64[np.ndarray, " N"], Int64[np.ndarray, " N"]]:
    """Where the blocks of rows of these lengths begin, and how many pieces each has: `length` + 1, the last of a row
    perhaps fewer. Every piece of a row but its first is wanted in some block; a row of one piece has none.

    >>> cut(np.array([8, 1, 3]), length=3, step=3)
    (array([0, 3, 6, 9]), array([4, 4, 2, 3]))
    """
    more = np.maximum(rows - (length + 1), 0)
    counts = np.where(rows < 2, 0, 1 + -(-more // step))
    firsts = np.cumsum(rows) - rows
    inside = (np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)) * step
    sizes = np.minimum(np.repeat(rows, counts) - inside, length + 1)
    return np.repeat(firsts, counts) + inside, sizes


@dataclass(frozen=True)
class Following:
    """Texts in a rectangle, and the piece that follows each of theirs; IGNORE where none is asked for."""

    pieces: Int[Tensor, "B T"]
    wanted: Int[Tensor, "B T"]


def following(
    examples: Sequence[Mapping[str, Integer[np.ndarray, " _"]]], tokenizer: Tokenizing, device: torch.device
) -> Following:
    """Examples of a store as tensors; that a row begins after another's end is not asked for."""
    rows = [np.asarray(example[COLUMN], np.int64) for example in examples]
    wanted = torch.from_numpy(padded([row[1:] for row in rows], IGNORE).tokens)
    pieces = torch.from_numpy(padded([row[:-1] for row in rows], tokenizer.padding).tokens)
    if not pieces.numel():
        # Texts without a second piece: there is something to read, and nothing to tell.
        pieces, wanted = (torch.full((len(rows), 1), token) for token in (tokenizer.padding, IGNORE))
    if tokenizer.begin != tokenizer.end:
        wanted = wanted.masked_fill(wanted == tokenizer.begin, IGNORE)
    return Following(pieces.to(device, non_blocking=True), wanted.to(device, non_blocking=True))


def loss(model: Any, given: Following, smoothing: float) -> Loss:
    """The loss of a language model on a batch, summed over what was wanted."""
    return model.output.loss(model(given.pieces), given.wanted, smoothing)
