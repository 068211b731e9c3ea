"""Language models: what follows a text, by a Transformer that only looks back or by a recurrent stack."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import LOOK_AHEAD, At
from regard.config import Part
from regard.errors import ConfigError, ModelError
from regard.models.heads import NextPiece
from regard.models.protocols import Decoded, Start, State, Vocabulary, check_pieces, if_ragged
from regard.models.transformer import Stack, StackSettings, placed_outside, refuse_length
from regard.nn import native, plans
from regard.nn.blocks import Depth, Past, Scene
from regard.nn.dropout import Dropout
from regard.nn.embeddings import Embedding, UnscaledSettings
from regard.nn.plans import Going
from regard.nn.recurrent import Carry, Recurrent, RecurrentSettings

NOWHERE = Part(name="none")


class LanguageSettings(StackSettings):
    """A decoder by itself; with rotary positions, grouped queries, RMS norm and a gate it is a Llama."""

    tied: bool = True
    output_bias: bool = False


class Generated(NamedTuple):
    """What a hypothesis has of its own: where its next piece stands, and what each block keeps of it."""

    at: Int[Tensor, "R 1"] | int
    pasts: tuple[Past, ...] | Going | None


class TransformerLanguage(nn.Module):
    """P(piece t | pieces before t), all positions at once in training   (Radford et al. 2018)."""

    Settings = LanguageSettings

    def __init__(self, settings: LanguageSettings, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.settings, self.vocabulary = settings, vocabulary
        refuse_length(settings.attention, "attention")
        self.embedding = Embedding(settings.embedding, vocabulary.target, settings.width, placed_outside(settings))
        self.decoder = Stack(settings, settings.layers, Depth.alone(settings.layers))
        tied = self.embedding if settings.tied else None
        self.output = NextPiece(settings.width, vocabulary.target, tied, settings.output_bias)

    def room(self, read: int) -> int | None:
        return self.embedding.room(read - 1)

    def forward(self, pieces: Int[Tensor, "B T"], real: Bool[Tensor, "B T"] | None = None) -> Decoded:
        """What follows each prefix; padding after the text needs no mask, since nothing looks ahead."""
        check_pieces(pieces, real, self.vocabulary.target)
        return self._decode(pieces, if_ragged(real), range(pieces.shape[1]), None)[0]

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        """All of each prompt but its last piece is read at once; that one is for the first step."""
        check_pieces(source, real, self.vocabulary.target)
        real = if_ragged(real)
        last_B, first_B = last_pieces(source, real, self.vocabulary.begin)
        if source.shape[1] == 1:
            return Start(State(None, Generated(0, None)), first_B)
        before = None if real is None else real[:, 1:]
        pasts = self._decode(source[:, :-1], before, range(source.shape[1] - 1), None)[1]
        at = source.shape[1] - 1 if real is None else last_B[:, None]
        return Start(State(None, Generated(at, pasts)), first_B)

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        own: Generated = state.own
        if (whole := plans.stepped(pieces, own.pasts)) is not None:
            return whole[0], State(None, Generated(own.at + 1, whole[1]))
        at = range(own.at, own.at + 1) if isinstance(own.at, int) else own.at
        decoded, pasts = self._decode(pieces[:, None], None, at, own.pasts)
        plans.ended(pasts, self.embedding, self.output.readout)
        return self.output.log_probabilities(decoded)[:, 0], State(None, Generated(own.at + 1, pasts))

    def walk(self, pieces: Int[Tensor, " R"], state: State, walk: plans.Walk) -> tuple[native.Steps, State] | None:
        """Several steps of beams at once; None where each has to be taken by itself."""
        own: Generated = state.own
        walked = plans.walked(pieces, own.pasts, None, walk) if isinstance(own.at, int) else None
        return None if walked is None else (walked[0], State(None, Generated(walked[1].length, walked[1])))

    def _decode(
        self,
        pieces: Int[Tensor, "R T"],
        real: Bool[Tensor, "R T"] | None,
        at: At,
        pasts: tuple[Past, ...] | Going | None,
    ) -> tuple[Decoded, tuple[Past, ...] | Going | None]:
        scene = Scene(real, at, LOOK_AHEAD)
        states, pasts = self.decoder(self.embedding(pieces, at), scene, pasts)
        return Decoded(states), pasts


class RecurrentLanguageSettings(RecurrentSettings):
    """An LSTM or GRU over embeddings, tied to the output or not."""

    embedding: UnscaledSettings = UnscaledSettings()
    tied: bool = True
    output_bias: bool = False


class RecurrentLanguage(nn.Module):
    """P(piece t | pieces before t) by a recurrent stack   (Mikolov et al. 2010)."""

    Settings = RecurrentLanguageSettings

    def __init__(self, settings: RecurrentLanguageSettings, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.settings, self.vocabulary = settings, vocabulary
        if settings.both_ways:
            raise ConfigError("A language model cannot read both ways: what follows is what it has to tell.")
        self.embedding = Embedding(settings.embedding, vocabulary.target, settings.width, NOWHERE)
        self.decoder = Recurrent(settings, settings.width)
        self.dropout = Dropout(settings.dropout)
        tied = self.embedding if settings.tied else None
        self.output = NextPiece(settings.width, vocabulary.target, tied, settings.output_bias)

    def forward(self, pieces: Int[Tensor, "B T"], real: Bool[Tensor, "B T"] | None = None) -> Decoded:
        check_pieces(pieces, real, self.vocabulary.target)
        return self._decode(pieces, if_ragged(real), None)[0]

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        check_pieces(source, real, self.vocabulary.target)
        real = if_ragged(real)
        _, first_B = last_pieces(source, real, self.vocabulary.begin)
        if source.shape[1] == 1:
            return Start(State(None, None), first_B)
        before = None if real is None else real[:, 1:]
        return Start(State(None, self._decode(source[:, :-1], before, None)[1]), first_B)

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        decoded, carry = self._decode(pieces[:, None], None, state.own)
        return self.output.log_probabilities(decoded)[:, 0], State(None, carry)

    def _decode(
        self, pieces: Int[Tensor, "R T"], real: Bool[Tensor, "R T"] | None, carry: Carry | None
    ) -> tuple[Decoded, Carry]:
        states, carry = self.decoder(self.embedding(pieces, range(pieces.shape[1])), real, carry)
        return Decoded(self.dropout(states)), carry


def last_pieces(
    source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None, begin: int
) -> tuple[Int[Tensor, " B"], Int[Tensor, " B"]]:
    """Where each prompt's last real piece stands, and which it is; an empty prompt has but the piece to begin with."""
    if real is None:
        return torch.full_like(source[:, 0], source.shape[1] - 1), source[:, -1]
    if bool((real[:, 1:] & ~real[:, :-1]).any()):
        raise ModelError("What follows a prompt is asked after its last piece, so padding must follow it.")
    last_B = real.sum(1).clamp(min=1) - 1
    return last_B, source.gather(1, last_B[:, None])[:, 0].where(real.any(1), begin)
