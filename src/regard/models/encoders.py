"""Text encoders of every family: pieces in, one state a piece out. Attention may stand before or after the layers."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from pydantic import PositiveInt
from torch import Tensor, nn

from regard.attention import At, HeadsSettings, MultiHeadAttention, Tap
from regard.config import Part, Rate, Settings
from regard.errors import ConfigError
from regard.models.protocols import check_pieces, if_ragged
from regard.models.transformer import TransformerEncoder
from regard.nn.convolution import Convolution, ConvolutionSettings
from regard.nn.dropout import Dropout
from regard.nn.embeddings import Embedding, EmbeddingSettings, UnscaledSettings
from regard.nn.norms import LayerNorm
from regard.nn.recurrent import Recurrent, RecurrentSettings
from regard.nn.windows import Windows


@runtime_checkable
class Encoder(Protocol):
    """Whatever reads a text: its pieces, what kind of segment each is in, and what else is known beside each."""

    width: int
    embedding: Embedding

    def __call__(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Float[Tensor, "B T D"]: ...


class SelfAttention(nn.Module):
    """norm(x + attention(x, x)): one layer of it, to stand before or after layers of another kind."""

    def __init__(self, settings: HeadsSettings, width: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(settings, width)
        self.norm = LayerNorm(width)

    def forward(self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None) -> Float[Tensor, "B T D"]:
        return self.norm(x + self.attention(x, self.attention.remember(x, real)))


@dataclass(frozen=True)
class Read:
    """A text as a recurrent encoder leaves it: its states, their sum-up, and the cells where they were asked for."""

    states: Float[Tensor, "B T D"]
    summary: Float[Tensor, "B D"]
    cells: Float[Tensor, "B T D"] | None = None


class RecurrentEncoderSettings(RecurrentSettings):
    """Recurrent layers, both ways unless told otherwise, with self-attention before or after them."""

    both_ways: bool = True
    embedding: UnscaledSettings = UnscaledSettings()
    before: HeadsSettings | None = None
    after: HeadsSettings | None = None


class RecurrentEncoder(nn.Module):
    """An LSTM or GRU over the text   (Schuster and Paliwal 1997; Hochreiter and Schmidhuber 1997; Cho et al. 2014)."""

    Settings = RecurrentEncoderSettings

    def __init__(
        self, settings: RecurrentEncoderSettings, vocabulary: int, embedding: EmbeddingSettings | None = None
    ) -> None:
        """`embedding` is the one a model has for all its parts; on its own, an encoder has that of its settings."""
        super().__init__()
        self.settings, self.width = settings, settings.width
        embedding = settings.embedding if embedding is None else _common(embedding, settings.embedding)
        self.embedding = Embedding(embedding, vocabulary, settings.width, Part(name="none"))
        self.before = SelfAttention(settings.before, settings.width) if settings.before else None
        self.layers = Recurrent(settings, settings.width)
        self.after = SelfAttention(settings.after, settings.width) if settings.after else None

    def read(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        with_cells: bool = False,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Read:
        check_pieces(pieces, real, self.embedding.vocabulary)
        real = if_ragged(real)
        x = self.embedding(pieces, range(pieces.shape[1]), segments, beside)
        x = x if self.before is None else self.before(x, real)
        cells = None
        if with_cells:
            states, carry, cells = self.layers.with_cells(x, real)
        else:
            states, carry = self.layers(x, real)
        states = states if self.after is None else self.after(states, real)
        return Read(states, carry.hidden[:, -1], cells)

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        return self.read(pieces, real, False, segments, beside).states


class ConvolutionalEncoderSettings(ConvolutionSettings):
    """Convolutions, with positions and with self-attention before or after them."""

    embedding: UnscaledSettings = UnscaledSettings()
    position: Part = Part(name="learned")
    before: HeadsSettings | None = None
    after: HeadsSettings | None = None


class ConvolutionalEncoder(nn.Module):
    """Gated convolutions over the text   (Gehring et al. 2017)."""

    Settings = ConvolutionalEncoderSettings

    def __init__(self, settings: ConvolutionalEncoderSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings, self.width = settings, settings.width
        self.embedding = Embedding(settings.embedding, vocabulary, settings.width, settings.position)
        self.before = SelfAttention(settings.before, settings.width) if settings.before else None
        self.blocks = nn.ModuleList(Convolution(settings, causal=False) for _ in range(settings.layers))
        self.after = SelfAttention(settings.after, settings.width) if settings.after else None
        self.states = Tap("BTD")

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        return self.read(pieces, real, segments, beside)[1]

    def read(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
        at: At | None = None,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
        """The embeddings and the states above them."""
        check_pieces(pieces, real, self.embedding.vocabulary)
        real = if_ragged(real)
        embedded = self.embedding(pieces, range(pieces.shape[1]) if at is None else at, segments, beside)
        x = embedded if self.before is None else self.before(embedded, real)
        for block in self.blocks:
            x = block(x, real)[0]
        x = x if self.after is None else self.after(x, real)
        return embedded, self.states(x)


class WideEncoderSettings(Settings):
    """Convolutions side by side, each over another number of positions; the width is shared out among them."""

    width: PositiveInt = 300
    kernels: tuple[PositiveInt, ...] = (3, 4, 5)
    dropout: Rate = 0.0
    embedding: UnscaledSettings = UnscaledSettings()


class WideEncoder(nn.Module):
    """[relu(conv_k(x)) for each k]: one layer, read by the maximum over the text   (Kim 2014)."""

    Settings = WideEncoderSettings

    def __init__(self, settings: WideEncoderSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings, self.width = settings, settings.width
        count = len(settings.kernels)
        if count == 0 or settings.width % count:
            raise ConfigError(
                f"A width of {settings.width} cannot be shared out among {count} kernels {list(settings.kernels)}; "
                "give one kernel or more, and a multiple of their number."
            )
        # Vectors go in as they are: a convolution is a projection already.
        wanted = settings.embedding
        inputs = (wanted.width or settings.width) + wanted.fixed + wanted.beside
        self.embedding = Embedding(settings.embedding, vocabulary, inputs, Part(name="none"))
        self.convolutions = nn.ModuleList(
            Windows(inputs, settings.width // count, kernel) for kernel in settings.kernels
        )
        self.dropout = Dropout(settings.dropout)
        self.states = Tap("BTD")

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        check_pieces(pieces, real, self.embedding.vocabulary)
        x_BTD = self.embedding(pieces, range(pieces.shape[1]), segments, beside)
        x_BTD = x_BTD if real is None else x_BTD * real[..., None]
        found_BTD = torch.cat([convolve(x_BTD) for convolve in self.convolutions], dim=-1).relu()
        return self.states(self.dropout(found_BTD))


def _common(embedding: EmbeddingSettings, own: EmbeddingSettings) -> EmbeddingSettings:
    """The whole model's settings, where the encoder's were left alone."""
    if own not in (RecurrentEncoderSettings().embedding, embedding):
        raise ConfigError("encoder.embedding is set, but this model has one embedding for all parts; set embedding.")
    return embedding


ENCODERS: dict[str, type[nn.Module]] = {
    "transformer": TransformerEncoder,
    "recurrent": RecurrentEncoder,
    "convolutional": ConvolutionalEncoder,
    "wide": WideEncoder,
}
