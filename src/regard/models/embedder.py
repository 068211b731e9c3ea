"""One vector a text."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.config import Settings
from regard.models.heads import Pooling, PoolingSettings
from regard.models.understanding import reads


class EmbedderSettings(Settings):
    """How the states of a text become its vector; `unit` makes it of length one."""

    pooling: PoolingSettings = PoolingSettings(how="mean")
    unit: bool = True


class Embedder(nn.Module):
    """pool(states) / |pool(states)|   (Reimers and Gurevych 2019)."""

    Settings = EmbedderSettings

    def __init__(self, encoder: nn.Module, settings: EmbedderSettings) -> None:
        super().__init__()
        self.settings, self.encoder = settings, encoder
        self.pooling = Pooling(settings.pooling, reads(encoder).width)

    def forward(self, pieces: Int[Tensor, "B T"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B D"]:
        vector_BD = self.pooling(self.encoder(pieces, real), real)
        return F.normalize(vector_BD, dim=-1) if self.settings.unit else vector_BD
