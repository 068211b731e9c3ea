"""Encoders run by CTranslate2; what stands on them stays ours."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attention import At
from regard.convert.ctranslate2 import library
from regard.engines.ctranslate2.running import Options
from regard.models import TransformerEncoder


class Encoding:
    """The forward pass of an encoder: pieces to states."""

    def __init__(self, folder: Path, encoder: TransformerEncoder, positions: int | None, settings: Options) -> None:
        self.encoder, self.positions = encoder, positions
        self.segments = encoder.embedding.segments is not None
        self._library: Any = library().Encoder(str(folder), **settings)
        self.numbers = str(self._library.compute_type)

    def __call__(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
        at: At | None = None,
    ) -> Float[Tensor, "B T D"]:
        """The states, zero at padding; our own encoder's where CTranslate2 has no positions for so long a text."""
        if at is not None or (self.positions is not None and pieces.shape[1] > self.positions):
            return self.encoder(pieces, real, segments, beside, at)
        real_BT = torch.ones_like(pieces, dtype=torch.bool) if real is None else real
        states_BTD = self._forward(pieces, real_BT.sum(1), segments).to(pieces.device)
        return states_BTD * real_BT[..., None]

    def _forward(
        self, pieces: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], segments: Int[Tensor, "B T"] | None
    ) -> Float[Tensor, "B T D"]:
        view = library().StorageView.from_array
        # An empty text has no state that anyone looks at, and CTranslate2 no way to compute one.
        sizes = lengths.clamp(min=1).int().cpu().numpy()
        kinds = None
        if self.segments:
            kinds = (torch.zeros_like(pieces) if segments is None else segments).tolist()
        found = self._library.forward_batch(view(pieces.int().cpu().numpy()), view(sizes), kinds)
        return torch.from_numpy(np.array(found.last_hidden_state))
