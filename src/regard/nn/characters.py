"""From the letters of a word to a vector: what a word looks like, for words seldom or never seen."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Tap
from regard.config import Rate, Settings
from regard.errors import ModelError
from regard.nn.dropout import Dropout
from regard.nn.recurrent import Recurrent, RecurrentSettings
from regard.nn.windows import Windows

# What stands for "no letter" while words are told apart; no letter has this number.
NO_LETTER = -1


class CharactersSettings(Settings):
    """`width` is that of a letter's vector, `out` that of a word's; `kernel` counts letters, for a convolution only."""

    kind: Literal["convolution", "recurrent"] = "convolution"
    width: PositiveInt = 30
    out: PositiveInt = 50
    kernel: PositiveInt = 3
    dropout: Rate = 0.1


class Characters(nn.Module):
    """max over places of a convolution (Ma and Hovy 2016), or the ends of an LSTM both ways (Lample et al. 2016).

    A word without letters is zeros. Each distinct word of a batch is computed once: in 32 sentences of news about half
    of the words, and a quarter of the places once padding counts, are distinct.
    """

    def __init__(self, settings: CharactersSettings, letters: int) -> None:
        super().__init__()
        self.width = settings.out
        self.vectors = nn.Parameter(torch.empty(letters, settings.width).normal_(0.0, settings.width**-0.5))
        self.dropout = Dropout(settings.dropout)
        kind = {"convolution": Convolved, "recurrent": Ends}[settings.kind]
        self.read: nn.Module = kind(settings)
        self.words = Tap("BTD")

    def forward(self, letters: Int[Tensor, "B T W"], real: Bool[Tensor, "B T W"]) -> Float[Tensor, "B T D"]:
        self._check(letters, real)
        distinct_NW, places_M = _distinct(letters.masked_fill(~real, NO_LETTER).flatten(0, 1))
        real_NW = distinct_NW != NO_LETTER
        vectors_NWX = F.embedding(distinct_NW.clamp(min=0), self.vectors) * real_NW[..., None]
        words_ND = self.read(self.dropout(vectors_NWX), real_NW)
        return self.words(words_ND[places_M].unflatten(0, letters.shape[:2]))

    def _check(self, letters: Int[Tensor, "B T W"], real: Bool[Tensor, "B T W"]) -> None:
        if real.dtype != torch.bool or real.shape != letters.shape:
            raise ModelError(
                f"The mask of real letters is {real.dtype} of shape {tuple(real.shape)}, expected torch.bool of shape "
                f"{tuple(letters.shape)} where True = real."
            )
        if letters.numel() == 0:
            raise ModelError(f"Letters of shape {tuple(letters.shape)}; give at least one text, word and place.")
        known, given = len(self.vectors), letters.masked_fill(~real, 0)
        lowest, highest = int(given.min()), int(given.max())
        if lowest < 0 or highest >= known:
            wrong = lowest if lowest < 0 else highest
            raise ModelError(f"Letter {wrong} is none of the {known} letters known (0 to {known - 1}).")


class Convolved(nn.Module):
    """max_w (K * x)_w over the real letters."""

    def __init__(self, settings: CharactersSettings) -> None:
        super().__init__()
        self.convolve = Windows(settings.width, settings.out, settings.kernel)

    def forward(self, x: Float[Tensor, "N W X"], real: Bool[Tensor, "N W"]) -> Float[Tensor, "N D"]:
        found_NWD = self.convolve(x)
        highest_ND = found_NWD.masked_fill(~real[..., None], torch.finfo(x.dtype).min).amax(1)
        # Filled, not multiplied: the lowest number there is would give its gradient to the empty word's places.
        return highest_ND.masked_fill(~real.any(1, keepdim=True), 0.0)


class Ends(nn.Module):
    """Where an LSTM ends that reads the word from the left, and where one ends that reads it from the right."""

    def __init__(self, settings: CharactersSettings) -> None:
        super().__init__()
        self.layers = Recurrent(RecurrentSettings(width=settings.out, both_ways=True, dropout=0.0), settings.width)

    def forward(self, x: Float[Tensor, "N W X"], real: Bool[Tensor, "N W"]) -> Float[Tensor, "N D"]:
        return self.layers(x, real)[1].hidden[:, -1]


def _distinct(words: Int[Tensor, "M W"]) -> tuple[Int[Tensor, "N V"], Int[Tensor, " M"]]:
    """The words that differ, cut to the longest of them, and which of them each word is."""
    used = (words != NO_LETTER).any(0).nonzero().flatten().tolist()
    # At least one place, so that a batch of empty words is still something to read.
    longest = used[-1] + 1 if used else 1
    distinct_NV, places_M = torch.unique(words[:, :longest], dim=0, return_inverse=True)
    return distinct_NV, places_M
