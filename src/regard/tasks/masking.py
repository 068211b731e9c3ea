"""Hiding pieces of a text for an encoder to find   (Devlin et al. 2019, section 3.1).

Of the pieces that are text a share is chosen; most of those become the mask, some another piece, some stay as they are.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor

from regard.config import Rate, Settings
from regard.errors import ConfigError
from regard.nn import IGNORE
from regard.text import Tokenizing

# The mark of a hidden piece in a text; tokenizers of our own have it as an extra piece.
MARK = "<mask>"


class MaskingSettings(Settings):
    """How many pieces are hidden; of those, which share becomes another piece, and which stays as it is."""

    rate: float = Field(default=0.15, gt=0, lt=1)
    other: Rate = 0.1
    same: Rate = 0.1
    # A longer text is learned from in stretches of at most so many pieces.
    longest: PositiveInt = 128

    @model_validator(mode="after")
    def _some_masked(self) -> Self:
        if self.other + self.same >= 1:
            raise ValueError(f"other = {self.other} and same = {self.same} leave no piece to be masked; lower them")
        return self


class Luck(NamedTuple):
    """Numbers between zero and one: which pieces are chosen, what becomes of them, which other piece they become."""

    chosen: Float[Tensor, "B T"]
    fate: Float[Tensor, "B T"]
    other: Float[Tensor, "B T"]


class Hidden(NamedTuple):
    """Texts with pieces hidden, and what stood there; IGNORE everywhere else."""

    pieces: Int[Tensor, "B T"]
    wanted: Int[Tensor, "B T"]


@dataclass(frozen=True)
class Masking:
    """Hides pieces of texts."""

    tokenizer: Tokenizing
    settings: MaskingSettings

    @cached_property
    def mask(self) -> int:
        """The piece that hides another."""
        own = getattr(self.tokenizer, "mask", None)
        if own is not None:
            return int(own)
        if MARK not in self.tokenizer.pieces:
            raise ConfigError(f"This tokenizer has no piece {MARK} to hide others with; begin with one that has.")
        return self.tokenizer.id(MARK)

    @cached_property
    def ordinary(self) -> Int[Tensor, " V"]:
        """The pieces that are text."""
        special = self.tokenizer.special | {self.mask}
        pieces = enumerate(self.tokenizer.pieces)
        return torch.tensor([number for number, piece in pieces if piece and number not in special])

    def drawn(self, pieces: Int[Tensor, "B T"], real: Bool[Tensor, "B T"]) -> Hidden:
        """Pieces hidden by torch's own luck, which a checkpoint keeps."""
        return self.hidden(pieces, real, Luck(*torch.rand(3, *pieces.shape, device=pieces.device)))

    def fixed(self, pieces: Int[Tensor, "B T"], real: Bool[Tensor, "B T"]) -> Hidden:
        """Pieces hidden by a luck that is each text's own: the same whenever and beside whatever it is read."""
        luck_3BT = torch.zeros(3, *pieces.shape)
        for number, (row, there) in enumerate(zip(pieces.cpu(), real.cpu(), strict=True)):
            told = zlib.crc32(row[there].numpy().astype("<i8").tobytes())
            size = int(there.sum())
            luck_3BT[:, number, :size] = torch.rand(3, size, generator=torch.Generator().manual_seed(told))
        return self.hidden(pieces, real, Luck(*luck_3BT.to(pieces.device)))

    def hidden(self, pieces: Int[Tensor, "B T"], real: Bool[Tensor, "B T"], luck: Luck) -> Hidden:
        """A share of the pieces of each text, at least one, hidden."""
        ordinary_V = self.ordinary.to(pieces.device)
        open_BT = real & torch.isin(pieces, ordinary_V)
        chance_BT = luck.chosen.masked_fill(~open_BT, 2.0)
        chosen_BT = open_BT & ((chance_BT < self.settings.rate) | (chance_BT == chance_BT.amin(1, keepdim=True)))
        other_BT = ordinary_V[(luck.other * len(ordinary_V)).long().clamp(max=len(ordinary_V) - 1)]
        masked = 1 - self.settings.other - self.settings.same
        become_BT = torch.where(luck.fate < 1 - self.settings.same, other_BT, pieces)
        become_BT = become_BT.masked_fill(luck.fate < masked, self.mask)
        return Hidden(torch.where(chosen_BT, become_BT, pieces), pieces.masked_fill(~chosen_BT, IGNORE))


def stretches(ids: Sequence[int], room: int) -> list[list[int]]:
    """The pieces of a text in stretches of about equal length, none longer than `room`.

    >>> stretches([1, 2, 3, 4, 5, 6, 7], 3)
    [[1, 2, 3], [4, 5], [6, 7]]
    """
    count = max(-(-len(ids) // max(room, 1)), 1)
    return [part.tolist() for part in np.array_split(np.array(ids, np.int64), count)]
