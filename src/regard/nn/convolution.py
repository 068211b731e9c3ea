"""Gated convolutions over text, looking both ways or back only."""

import math

import torch
from jaxtyping import Bool, Float
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Tap
from regard.config import Layers, Rate, Settings
from regard.errors import ConfigError
from regard.nn.dropout import Dropout


class ConvolutionSettings(Settings):
    """How wide, how deep, and over how many positions each layer looks."""

    width: PositiveInt = 256
    layers: Layers = 4
    kernel: PositiveInt = 3
    dropout: Rate = 0.1


class Convolution(nn.Module):
    """(x + glu(conv(x))) sqrt(1/2)   (Gehring et al. 2017, 3.2); a causal one looks back only."""

    def __init__(self, settings: ConvolutionSettings, causal: bool) -> None:
        super().__init__()
        if settings.kernel % 2 == 0 and not causal:
            raise ConfigError(f"A convolution both ways needs a middle; kernel = {settings.kernel} must be odd.")
        self.reach, self.causal = settings.kernel - 1, causal
        self.dropout = Dropout(settings.dropout)
        self.convolve = nn.Conv1d(settings.width, 2 * settings.width, settings.kernel)
        nn.init.normal_(self.convolve.weight, 0.0, math.sqrt(4.0 / (settings.kernel * settings.width)))
        nn.init.zeros_(self.convolve.bias)  # type: ignore[arg-type]
        self.output = Tap("BTD")

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        real: Bool[Tensor, "B T"] | None = None,
        seen: Float[Tensor, "B P D"] | None = None,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B P D"] | None]:
        """The layer's output, and for a causal layer the last inputs, which the next step looks back at."""
        inside = x if real is None else x * real[..., None]
        around = torch.cat([*self._edges(inside, seen)], dim=1)
        gated = F.glu(self.convolve(self.dropout(around).transpose(1, 2)), dim=1).transpose(1, 2)
        output: Tensor = self.output((x + gated) * math.sqrt(0.5))
        return output, around[:, around.shape[1] - self.reach :] if self.causal else None

    def _edges(self, x: Float[Tensor, "B T D"], seen: Float[Tensor, "B P D"] | None) -> list[Tensor]:
        if self.causal:
            return [x.new_zeros(x.shape[0], self.reach, x.shape[2]) if seen is None else seen, x]
        side = x.new_zeros(x.shape[0], self.reach // 2, x.shape[2])
        return [side, x, side]
