"""The convolutional encoder-decoder, with an attention in every layer of its decoder (Gehring et al. 2017)."""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from jaxtyping import Bool, Float, Int
from pydantic import PositiveInt
from torch import Tensor, nn

from regard.attention import At, Attention, AttentionSettings, Memory, linear
from regard.config import Part
from regard.errors import ConfigError
from regard.models.encoders import ConvolutionalEncoder, ConvolutionalEncoderSettings
from regard.models.heads import NextPiece
from regard.models.protocols import Decoded, Start, State, Vocabulary, check_pair, first_pieces, if_ragged
from regard.nn.convolution import Convolution
from regard.nn.embeddings import Embedding


class ConvolutionalSettings(ConvolutionalEncoderSettings):
    """Encoder and decoder of one shape."""

    decoder_layers: PositiveInt | None = None
    attention: AttentionSettings = AttentionSettings.model_validate({"score": "dot"})
    position: Part = Part(name="learned")
    tied: Literal["all", "output", "none"] = "output"
    output_bias: bool = True


class Own(NamedTuple):
    """What each hypothesis has of its own: the last inputs of every layer, and how far it has come: a tensor where a
    graph is drawn, in which no number stays what it was."""

    seen: tuple[Tensor | None, ...]
    length: int | Int[Tensor, "R 1"]


class ConvolutionalLayer(nn.Module):
    """conv, then x + W a(V x + g): asked with the state and the last piece, answered with states plus embeddings."""

    def __init__(self, settings: ConvolutionalSettings) -> None:
        super().__init__()
        self.convolution = Convolution(settings, causal=True)
        self.ask = linear(settings.width, settings.width)
        self.attention = Attention(settings.attention, settings.width, settings.width)
        self.answer = linear(self.attention.width, settings.width)

    def forward(
        self,
        x: Float[Tensor, "R T D"],
        embedded: Float[Tensor, "R T D"],
        memory: Memory,
        at: At,
        seen: Tensor | None,
    ) -> tuple[Float[Tensor, "R T D"], Tensor | None]:
        x, seen = self.convolution(x, None, seen)
        asked = (self.ask(x) + embedded) * math.sqrt(0.5)
        return (x + self.answer(self.attention(asked, memory, at=at).output)) * math.sqrt(0.5), seen


class ConvolutionalSequence(nn.Module):
    """Convolutions that read, convolutions that write, and attention between every pair of them."""

    Settings = ConvolutionalSettings

    def __init__(self, settings: ConvolutionalSettings, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.settings, self.vocabulary = settings, vocabulary
        if settings.tied == "all" and vocabulary.source != vocabulary.target:
            raise ConfigError("tied = 'all' needs one joint vocabulary of source and target.")
        self.encoder = ConvolutionalEncoder(settings, vocabulary.source)
        self.embedding = Embedding(settings.embedding, vocabulary.target, settings.width, settings.position)
        if settings.tied == "all":
            self.embedding.vectors = self.encoder.embedding.vectors
        layers = settings.decoder_layers or settings.layers
        self.blocks = nn.ModuleList(ConvolutionalLayer(settings) for _ in range(layers))
        if any(block.attention.mechanism.recurrent for block in self.each()):
            raise ConfigError("A convolutional decoder takes all steps at once, so its attention cannot look back.")
        tied = None if settings.tied == "none" else self.embedding
        self.output = NextPiece(settings.width, vocabulary.target, tied, settings.output_bias)

    @property
    def looks(self) -> tuple[str, ...]:
        """The taps of attention over the source."""
        return ("blocks.*.attention.mechanism.weights",)

    def room(self, read: int) -> int | None:
        return self.embedding.room(0)

    def each(self) -> Iterator[ConvolutionalLayer]:
        for block in self.blocks:
            assert isinstance(block, ConvolutionalLayer)
            yield block

    def encode(
        self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None, at: At | None = None
    ) -> tuple[Memory, ...]:
        """Keys are the encoder's states, values the states plus what was embedded: different tensors on purpose."""
        embedded, states = self.encoder.read(source, real, at=at)
        values, real = (states + embedded) * math.sqrt(0.5), if_ragged(real)
        return tuple(block.attention.remember(states, values, real, at) for block in self.each())

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"], real: Bool[Tensor, "B S"] | None = None
    ) -> Decoded:
        """What follows each prefix of the target; its first piece is the one that begins a text."""
        check_pair(source, target, self.vocabulary)
        return self._advance(target, self.encode(source, real), Own((None,) * len(self.blocks), 0))[0]

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        state = State(self.encode(source, real), Own((None,) * len(self.blocks), 0))
        return Start(state, first_pieces(source.shape[0], self.vocabulary.begin, source.device))

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        decoded, own = self._advance(pieces[:, None], state.shared, state.own)
        return self.output.log_probabilities(decoded)[:, 0], State(state.shared, own)

    def _advance(self, target: Int[Tensor, "R T"], memories: tuple[Memory, ...], own: Own) -> tuple[Decoded, Own]:
        at = own.length if isinstance(own.length, Tensor) else range(own.length, own.length + target.shape[1])
        embedded = self.embedding(target, at)
        x, seen = embedded, []
        for block, memory, before in zip(self.each(), memories, own.seen, strict=True):
            x, after = block(x, embedded, memory, at, before)
            seen.append(after)
        return Decoded(x), Own(tuple(seen), own.length + target.shape[1])
