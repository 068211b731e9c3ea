"""Recurrent encoder-decoders: without attention, with any attention, and with attention over their own past."""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import LOOK_AHEAD, At, Attention, AttentionSettings, History, Memory, Tap, linear, watched
from regard.config import Part, Settings
from regard.errors import ConfigError
from regard.models.encoders import Read, RecurrentEncoder, RecurrentEncoderSettings
from regard.models.heads import CopyingPiece, NextPiece
from regard.models.protocols import Decoded, Start, State, Vocabulary, check_pair, first_pieces, if_ragged, repeated
from regard.models.transformer import refuse_length
from regard.nn.asking import Asked, ask, can_ask
from regard.nn.dropout import Dropout
from regard.nn.embeddings import Embedding, UnscaledSettings
from regard.nn.recurrent import Carry, Recurrent, RecurrentSettings

NOWHERE = Part(name="none")


class SequenceSettings(Settings):
    """How a recurrent decoder uses what the encoder read.

    attend = "before" asks with the previous state and feeds the answer to the next (Bahdanau); "after" asks with the
    new state (Luong), whose answer may be fed back as well (`feeding`). Without attention the encoder's last state is
    all the decoder is told, and is told again at every step.
    """

    encoder: RecurrentEncoderSettings = RecurrentEncoderSettings()
    decoder: RecurrentSettings = RecurrentSettings()
    embedding: UnscaledSettings = UnscaledSettings()
    attention: AttentionSettings | None = AttentionSettings.model_validate({"score": "additive"})
    attend: Literal["before", "after"] = "before"
    feeding: bool = False
    keys: Literal["states", "cells"] = "states"
    own_past: AttentionSettings | None = None
    tied: Literal["all", "output", "none"] = "none"
    output_bias: bool = True
    copying: bool = False


class Shared(NamedTuple):
    """What all hypotheses of a source share."""

    memory: Memory | None
    summary: Float[Tensor, "B W"]
    pieces: Int[Tensor, "B S"]


class Own(NamedTuple):
    """What each hypothesis has of its own: recurrent states, the last answer, attention's history, its past.

    Its length is a tensor where a graph is drawn, in which no number stays what it was.
    """

    carry: Carry
    answer: Float[Tensor, "R W"]
    history: History | None
    past: Memory | None
    length: int | Int[Tensor, "R 1"]


class RecurrentSequence(nn.Module):
    """Encoder and decoder of recurrent layers, joined by a fixed vector or by attention."""

    Settings = SequenceSettings

    def __init__(self, settings: SequenceSettings, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.settings, self.vocabulary = settings, vocabulary
        _check(settings, vocabulary)
        width, read = settings.decoder.width, settings.encoder.width
        self.encoder = RecurrentEncoder(settings.encoder, vocabulary.source, settings.embedding)
        self.embedding = Embedding(settings.embedding, vocabulary.target, width, NOWHERE)
        if settings.tied == "all":
            self.embedding.vectors = self.encoder.embedding.vectors
        self.attention = _attention(settings, width, read)
        answer = read if self.attention is None else self.attention.width
        self.decoder = Recurrent(settings.decoder, width + (answer if self._fed else 0))
        self.bridge = linear(read, width * settings.decoder.layers * (2 if settings.decoder.cell == "lstm" else 1))
        self.own = _own(settings.own_past, width) if settings.own_past else None
        self.combine = linear(width + answer + (self.own.width if self.own else 0), width)
        self.dropout = Dropout(settings.decoder.dropout)
        self.answer_width = answer
        self.states = Tap("BTD")
        piece = CopyingPiece if settings.copying else NextPiece
        tied = None if settings.tied == "none" else self.embedding
        self.output = piece(width, vocabulary.target, tied, settings.output_bias)

    @property
    def looks(self) -> tuple[str, ...]:
        """The taps of attention over the source."""
        return () if self.attention is None else ("attention.mechanism.weights",)

    @property
    def _fed(self) -> bool:
        """Whether an answer enters the recurrent layers: always, but for attention after them that is not fed back."""
        return self.settings.attention is None or self.settings.attend == "before" or self.settings.feeding

    @property
    def _at_once(self) -> bool:
        """Whether all steps can be taken together, because none waits for the answer of the one before."""
        if self.settings.attention is None:
            return True
        return not self._fed and self.attention is not None and not self.attention.mechanism.recurrent

    @property
    def _asks(self) -> bool:
        """Whether all steps can be left to one call, though each waits for the one before: in training, which is when
        it pays, and where nothing of a step is wanted but its state and its answer."""
        told = self.settings.attend == "before" and not self.settings.copying and self.own is None
        if not self.training or not told or self.attention is None:
            return False
        return can_ask(self.decoder, self.attention, self.states)

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"], real: Bool[Tensor, "B S"] | None = None
    ) -> Decoded:
        """What follows each prefix of the target; its first piece is the one that begins a text."""
        check_pair(source, target, self.vocabulary)
        shared, own = self._begin(source, real)
        embedded_BTD = self.embedding(target, range(target.shape[1]))
        if self._at_once:
            return self._advance(embedded_BTD, shared, own)[0]
        if self._asks and shared.memory is not None:
            return self._learn(embedded_BTD, shared.memory, own)
        steps = []
        for place in range(target.shape[1]):
            decoded, own = self._advance(embedded_BTD[:, place : place + 1], shared, own)
            steps.append(decoded)
        return _joined(steps)

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        shared, own = self._begin(source, real)
        return Start(State(shared, own), first_pieces(source.shape[0], self.vocabulary.begin, source.device))

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        embedded_R1D = self.embedding(pieces[:, None], range(1))
        decoded, own = self._advance(embedded_R1D, state.shared, state.own)
        return self.output.log_probabilities(decoded)[:, 0], State(state.shared, own)

    def _begin(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None) -> tuple[Shared, Own]:
        read = self.encoder.read(source, real, with_cells=self.settings.keys == "cells")
        return self.begun(read, source, if_ragged(real))

    def begun(
        self, read: Read, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None, at: At | None = None
    ) -> tuple[Shared, Own]:
        """What decoding begins with once the encoder has read."""
        memory = None
        if self.attention is not None:
            keys = read.states if read.cells is None else read.cells
            memory = self.attention.remember(keys, read.states, real, at)
        bridged = torch.tanh(self.bridge(read.summary)).unflatten(
            -1, (-1, self.settings.decoder.layers, self.decoder.settings.width)
        )
        carry = Carry(bridged[:, 0], bridged[:, 1] if bridged.shape[1] == 2 else None)
        answer = read.summary.new_zeros(source.shape[0], self.answer_width)
        return Shared(memory, read.summary, source), Own(carry, answer, None, None, 0)

    def _advance(self, embedded: Float[Tensor, "R T D"], shared: Shared, own: Own) -> tuple[Decoded, Own]:
        """One step, or all of them where none waits for another."""
        beams, length = embedded.shape[0] // shared.pieces.shape[0], embedded.shape[1]
        at = own.length if isinstance(own.length, Tensor) else range(own.length, own.length + length)
        answer_RTW, history, weights = self._ask_before(own, shared, at, beams, length)
        if self._fed:
            embedded = torch.cat([embedded, answer_RTW], dim=-1)
        states, carry = self.decoder(embedded, None, own.carry)
        if self.attention is not None and self.settings.attend == "after":
            focus = self.attention(states, shared.memory, at=at, history=own.history)
            answer_RTW, history, weights = focus.output, focus.history, focus.weights
        looked, past = self._look_back(states, own, at)
        hidden = self.states(torch.tanh(self.combine(torch.cat([states, answer_RTW, *looked], dim=-1))))
        source = repeated(shared.pieces, beams) if self.settings.copying else None
        after = Own(carry, answer_RTW[:, -1], history, past, own.length + length)
        return Decoded(self.dropout(hidden), weights if self.settings.copying else None, source), after

    def _learn(self, embedded: Float[Tensor, "B T D"], memory: Memory, own: Own) -> Decoded:
        """All steps of a target whose every step asks before it; what they put out is dropped in one draw."""
        assert self.attention is not None
        asked = ask(self.decoder, self.attention, embedded.transpose(0, 1), own.carry, memory)
        hidden_TBD = torch.tanh(self.combine(torch.cat([asked.states, asked.answers], dim=-1)))
        if watched():
            self._show(asked, hidden_TBD, memory, own)
        return Decoded(self.dropout(hidden_TBD).transpose(0, 1), None, None)

    @torch.no_grad()
    def _show(self, asked: Asked, hidden: Float[Tensor, "T B D"], memory: Memory, own: Own) -> None:
        """Let watchers see each step, which none of the modules has taken."""
        assert self.attention is not None
        before_BD = own.carry.hidden[:, 0]
        for place, (answer_BW, state_BD) in enumerate(zip(asked.answers, asked.states, strict=True)):
            at = range(place, place + 1)
            self.attention.mechanism.show(before_BD[:, None, None], memory, at, answer_BW[:, None, None])
            self.decoder.states(state_BD[:, None])
            self.states(hidden[place][:, None])
            before_BD = state_BD

    def _ask_before(
        self, own: Own, shared: Shared, at: At, beams: int, length: int
    ) -> tuple[Float[Tensor, "R T W"], History | None, Tensor | None]:
        """What the decoder is told before its step: the source's summary, the last answer, or a fresh one."""
        if self.attention is None:
            return repeated(shared.summary, beams)[:, None].expand(-1, length, -1), None, None
        if self.settings.attend == "after":
            return own.answer[:, None].expand(-1, length, -1), None, None
        focus = self.attention(own.carry.hidden[:, -1:], shared.memory, at=at, history=own.history)
        return focus.output, focus.history, focus.weights

    def _look_back(self, states: Float[Tensor, "R T D"], own: Own, at: At) -> tuple[list[Tensor], Memory | None]:
        """Attention over the decoder's own states so far, its present one included   (Cheng et al. 2016)."""
        if self.own is None:
            return [], None
        new = self.own.remember(states, at=at)
        past = new if own.past is None else own.past.extend(new)
        return [self.own(states, past, LOOK_AHEAD, at).output], past


def _attention(settings: SequenceSettings, width: int, read: int) -> Attention | None:
    if settings.attention is None:
        return None
    return Attention(settings.attention, width, read, read, explicit=settings.copying)


def _own(settings: AttentionSettings, width: int) -> Attention:
    """Attention over the decoder's own past, which grows at every step."""
    refuse_length(settings, "own_past")
    own = Attention(settings, width, width)
    if own.mechanism.recurrent:
        raise ConfigError(
            "own_past grows at every step, so a score or scope that looks back at earlier weights cannot serve there; "
            "use it in attention."
        )
    return own


def _joined(steps: list[Decoded]) -> Decoded:
    weights = [step.weights for step in steps if step.weights is not None]
    hidden = torch.cat([step.hidden for step in steps], dim=1)
    return Decoded(hidden, torch.cat(weights, dim=1) if weights else None, steps[0].source)


def _check(settings: SequenceSettings, vocabulary: Vocabulary) -> None:
    if settings.decoder.both_ways:
        raise ConfigError(
            "A decoder cannot read both ways: what follows is not written yet; set decoder.both_ways = false."
        )
    if settings.feeding and (settings.attention is None or settings.attend == "before"):
        raise ConfigError(
            "feeding = true hands the answer of attention after a step to the next; set attend = 'after'."
        )
    if settings.copying and settings.attention is None:
        raise ConfigError("Copying points with attention's weights; choose an attention.")
    if (settings.copying or settings.tied == "all") and vocabulary.source != vocabulary.target:
        raise ConfigError("Copying and tied = 'all' need one joint vocabulary of source and target.")
    if settings.tied == "all" and settings.embedding.width is None and settings.encoder.width != settings.decoder.width:
        raise ConfigError("tied = 'all' shares vectors, so encoder and decoder need one width or an embedding.width.")
    if settings.keys == "cells" and settings.attention is None:
        raise ConfigError("keys = 'cells' says what attention looks things up by; choose an attention.")
    if settings.keys == "cells" and settings.encoder.cell != "lstm":
        raise ConfigError(
            f"A {settings.encoder.cell} has no cell states; set encoder.cell = 'lstm' or keys = 'states'."
        )
