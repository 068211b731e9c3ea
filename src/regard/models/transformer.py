"""The Transformer: encoder, decoder and both, as in the paper (Vaswani et al. 2017) and as practised since."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from regard.attention import (
    LOOK_AHEAD,
    POSITIONS,
    At,
    Attention,
    AttentionSettings,
    HeadsSettings,
    MechanismSettings,
    Memory,
    watched,
)
from regard.config import Layers, Part, make
from regard.errors import ConfigError, unknown
from regard.models.heads import CopyingPiece, NextPiece
from regard.models.protocols import (
    Decoded,
    Start,
    State,
    Vocabulary,
    check_pair,
    check_pieces,
    first_pieces,
    if_ragged,
    repeated,
)
from regard.nn import native, plans
from regard.nn.blocks import Block, BlockSettings, Depth, Past, Scene
from regard.nn.embeddings import Embedding, EmbeddingSettings
from regard.nn.norms import NORMS
from regard.nn.plans import Going
from regard.nn.remembered import Remembered


class StackSettings(BlockSettings):
    """A stack of blocks with its embeddings; one setting says where positions enter, wherever that is."""

    layers: Layers = 6
    position: Part = Part(name="sinusoidal")
    embedding: EmbeddingSettings = EmbeddingSettings()
    # None: after the last block where norms stand before, nowhere where they stand after.
    final_norm: bool | None = None
    # The heads that pruning has left of an attention, by its place in what is built: {"decoder.blocks.0.cross" = [1]}.
    kept: dict[str, tuple[int, ...]] = Field(default={})


class TransformerSettings(StackSettings):
    """An encoder-decoder; `tied` shares vectors between source, target and output, or target and output, or none."""

    decoder_layers: Layers | None = None
    tied: Literal["all", "output", "none"] = "all"
    # last: every decoder block reads the last encoder block; layerwise: its own; joint: memory and target in one go.
    cross: Literal["last", "layerwise", "joint"] = "last"
    # None: like self-attention, but without its positions, since those of source and target do not compare.
    cross_attention: HeadsSettings | None = None
    output_bias: bool = False
    copying: bool = False


class Stack(nn.Module):
    """Blocks, one after the other, and the norm after them."""

    def __init__(
        self, settings: StackSettings, layers: int, depth: Depth, crossing: HeadsSettings | None = None
    ) -> None:
        super().__init__()
        settings = placed_inside(settings)
        self.blocks = nn.ModuleList(Block(settings, depth, crossing) for _ in range(layers))
        final = settings.place == "pre" if settings.final_norm is None else settings.final_norm
        self.norm = make("norm", NORMS, settings.norm if final else "none", settings.width)

    def each(self) -> Iterator[Block]:
        for block in self.blocks:
            assert isinstance(block, Block)
            yield block

    def forward(
        self,
        x: Float[Tensor, "R T D"],
        scene: Scene,
        pasts: Any = None,
        sources: Remembered | None = None,
    ) -> tuple[Float[Tensor, "R T D"], tuple[Past, ...] | Going | None]:
        """The last block's output, normed, and what the next step begins with, such as it was given in `pasts`."""
        by_modules = pasts is None or isinstance(pasts, tuple)
        plan, unseen = self._plan() if by_modules else (pasts.plan, not watched())
        made = plan.run(x, scene, pasts, sources) if plan is not None and unseen else None
        if made is not None:
            return made
        with plans.company(plan):
            memories = None if sources is None else sources.memories
            outputs, kept = self.through(x, scene, pasts if by_modules else pasts.pasts(), memories)
        return outputs[-1], kept

    def every(self, x: Float[Tensor, "R T D"], scene: Scene) -> list[Float[Tensor, "R T D"]]:
        """The outputs of all blocks, the last one normed."""
        with plans.company(self._plan()[0]):
            return self.through(x, scene)[0]

    def remember(self, states: Sequence[Float[Tensor, "B S D"]], real: Bool[Tensor, "B S"] | None) -> Remembered:
        """A source as each block will attend to it."""
        plan, unseen = self._plan()
        made = plan.remember(states, real) if plan is not None and unseen else None
        if made is not None:
            return made
        with plans.company(plan):
            return Remembered(tuple(map(Block.remember, self.each(), states, [real] * len(states))))

    def _plan(self) -> tuple[plans.Plan | None, bool]:
        """How to do without the blocks, and whether nobody would miss them."""
        known = plans.known(self, list(self.each()), self.norm)
        return (None, False) if known is None else (known.plan, known.unseen())

    def through(
        self,
        x: Float[Tensor, "R T D"],
        scene: Scene,
        pasts: tuple[Past, ...] | None = None,
        sources: tuple[Memory, ...] | None = None,
    ) -> tuple[list[Float[Tensor, "R T D"]], tuple[Past, ...]]:
        """The outputs of all blocks, the last one normed, by the blocks themselves; and what they keep."""
        outputs, kept = [], []
        for layer, block in enumerate(self.each()):
            past = Past() if pasts is None else pasts[layer]
            x, after = block(x, scene, past, None if sources is None else sources[layer])
            outputs.append(x)
            kept.append(after)
        return [*outputs[:-1], self.norm(x, scene.real)], tuple(kept)


class TransformerEncoder(nn.Module):
    """Pieces to states, each of which has seen the whole text."""

    Settings = StackSettings

    def __init__(self, settings: StackSettings, vocabulary: int, depth: Depth | None = None) -> None:
        super().__init__()
        self.settings, self.width = settings, settings.width
        self.embedding = Embedding(settings.embedding, vocabulary, settings.width, placed_outside(settings))
        self.stack = Stack(settings, settings.layers, depth or Depth.alone(settings.layers))

    def layers(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
        at: At | None = None,
    ) -> list[Float[Tensor, "B T D"]]:
        """The states after every block."""
        x, scene = self._embedded(pieces, real, segments, beside, at)
        return self.stack.every(x, scene)

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
        at: At | None = None,
    ) -> Float[Tensor, "B T D"]:
        x, scene = self._embedded(pieces, real, segments, beside, at)
        return self.stack(x, scene)[0]

    def _embedded(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
        at: At | None = None,
    ) -> tuple[Float[Tensor, "B T D"], Scene]:
        check_pieces(pieces, real, self.embedding.vocabulary)
        scene = Scene(if_ragged(real), range(pieces.shape[1]) if at is None else at)
        return self.embedding(pieces, scene.at, segments, beside), scene


class Shared(NamedTuple):
    """What all hypotheses of a source share: each layer's keys and values, and what copying needs."""

    sources: Remembered
    pieces: Int[Tensor, "B S"]
    pointer: Memory | None
    lengths: Int[Tensor, " B"]


class Transformer(nn.Module):
    """Encoder and decoder; how they meet is a setting."""

    Settings = TransformerSettings

    def __init__(self, settings: TransformerSettings, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.settings, self.vocabulary = settings, vocabulary
        layers, deep = settings.layers, settings.decoder_layers or settings.layers
        _check(settings, vocabulary, deep)
        self.encoder = TransformerEncoder(settings, vocabulary.source, Depth.encoder(layers, deep))
        self.embedding = Embedding(settings.embedding, vocabulary.target, settings.width, placed_outside(settings))
        if settings.tied == "all":
            self.embedding.vectors = self.encoder.embedding.vectors
            self.embedding.project = self.encoder.embedding.project
        self.decoder = Stack(settings, deep, Depth.decoder(deep), _crossing(settings))
        piece = CopyingPiece if settings.copying else NextPiece
        tied = None if settings.tied == "none" else self.embedding
        self.output = piece(settings.width, vocabulary.target, tied, settings.output_bias)
        scaled = AttentionSettings.model_validate({"score": "general"})
        self.pointer = Attention(scaled, settings.width, settings.width, explicit=True) if settings.copying else None

    @property
    def looks(self) -> tuple[str, ...]:
        """The taps of attention over the source."""
        return () if self.settings.cross == "joint" else ("decoder.blocks.*.cross.mechanism.weights",)

    def room(self, read: int) -> int | None:
        return self.embedding.room(read if self.settings.cross == "joint" else 0)

    def encode(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Shared:
        """The source as the decoder will attend to it, computed once however many steps and beams follow."""
        chosen, real = self._read(source, real), if_ragged(real)
        sources = self.decoder.remember(chosen, real)
        pointer = None if self.pointer is None else self.pointer.remember(chosen[-1], real=real)
        return Shared(sources, source, pointer, sources.whole[0].lengths)

    def _read(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None) -> list[Float[Tensor, "B S D"]]:
        """What each of the decoder's blocks looks at."""
        if self.settings.cross != "layerwise":
            return [self.encoder(source, real)] * len(self.decoder.blocks)
        layers, real = self.encoder.layers(source, real), if_ragged(real)
        return [self.encoder.stack.norm(states, real) for states in layers[:-1]] + layers[-1:]

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"], real: Bool[Tensor, "B S"] | None = None
    ) -> Decoded:
        """What follows each prefix of the target; its first piece is the one that begins a text.

        Padding of the target needs no mask: it follows the text, and nothing looks ahead.
        """
        check_pair(source, target, self.vocabulary)
        return self._decode(target, self.encode(source, real), None, 0)[0]

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        state = State(self.encode(source, real), (0, None))
        return Start(state, first_pieces(source.shape[0], self.vocabulary.begin, source.device))

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        length, pasts = state.own
        shared: Shared = state.shared
        if (whole := plans.stepped(pieces, pasts, shared.sources)) is not None:
            return whole[0], State(shared, (length + 1, whole[1]))
        decoded, pasts = self._decode(pieces[:, None], shared, pasts, length)
        plans.ended(pasts, self.embedding, None if self.settings.copying else self.output.readout)
        return self.output.log_probabilities(decoded)[:, 0], State(shared, (length + 1, pasts))

    def walk(self, pieces: Int[Tensor, " R"], state: State, walk: plans.Walk) -> tuple[native.Steps, State] | None:
        """Several steps of beams at once; None where each has to be taken by itself."""
        walked = plans.walked(pieces, state.own[1], state.shared.sources, walk)
        return None if walked is None else (walked[0], State(state.shared, (walked[1].length, walked[1])))

    def _decode(
        self, target: Int[Tensor, "R T"], shared: Shared, pasts: tuple[Past, ...] | Going | None, begin: int
    ) -> tuple[Decoded, tuple[Past, ...] | Going | None]:
        beams = target.shape[0] // shared.pieces.shape[0]
        scene = Scene(None, self._places(shared, begin, target.shape[1], beams), LOOK_AHEAD)
        states, pasts = self.decoder(self.embedding(target, scene.at), scene, pasts, shared.sources)
        return self._pointed(states, shared, beams), pasts

    def _places(self, shared: Shared, begin: int, length: int, beams: int) -> At:
        """Target positions count from zero; attended to jointly with the source, they go on where it ends."""
        if self.settings.cross != "joint":
            return range(begin, begin + length)
        places = torch.arange(begin, begin + length, device=shared.lengths.device)
        return repeated(shared.lengths, beams)[:, None] + places

    def _pointed(self, hidden: Float[Tensor, "R T D"], shared: Shared, beams: int) -> Decoded:
        if self.pointer is None or shared.pointer is None:
            return Decoded(hidden)
        focus = self.pointer(hidden, shared.pointer)
        return Decoded(hidden, focus.weights, repeated(shared.pieces, beams))


def placed_outside(settings: StackSettings) -> Part:
    """The position scheme of the embeddings: the chosen one if it acts there, else none."""
    return settings.position if _acts(settings) == "embedding" else Part(name="none")


def placed_inside(settings: StackSettings) -> StackSettings:
    """The settings with the position scheme given to self-attention, if it acts there."""
    if _acts(settings) != "attention":
        return settings
    if settings.attention.position.name != "none":
        raise ConfigError(
            f"position = {settings.position} and attention.position = {settings.attention.position} both act inside "
            "attention; keep one of them."
        )
    attention = settings.attention.model_copy(update={"position": settings.position})
    return settings.model_copy(update={"attention": attention})


def refuse_length(attention: MechanismSettings, name: str) -> None:
    """A text being written has no length yet, but local-p looks at a share of it."""
    if attention.scope.name == "local_p":
        raise ConfigError(
            f"{name}.scope = local_p looks at a share of a text's length, which a decoder has not written yet; "
            "use it for attention to a source, and another scope here."
        )


def _crossing(settings: TransformerSettings) -> HeadsSettings | None:
    """How the decoder's blocks attend to the source, if not jointly with the target."""
    if settings.cross == "joint":
        return None
    return settings.cross_attention or settings.attention.model_copy(update={"position": Part(name="none")})


def _acts(settings: StackSettings) -> str:
    if settings.position.name not in POSITIONS:
        raise ConfigError(unknown("position", settings.position.name, POSITIONS))
    return POSITIONS[settings.position.name].acts


def _check(settings: TransformerSettings, vocabulary: Vocabulary, deep: int) -> None:
    if settings.tied == "all" and vocabulary.source != vocabulary.target:
        raise ConfigError(
            f"tied = 'all' shares vectors between {vocabulary.source} source and {vocabulary.target} target pieces; "
            "learn one joint vocabulary or set tied = 'output'."
        )
    if settings.copying and vocabulary.source != vocabulary.target:
        raise ConfigError("Copying writes source pieces into the target, so both need one joint vocabulary.")
    if settings.cross == "layerwise" and deep != settings.layers:
        raise ConfigError(
            f"cross = 'layerwise' pairs blocks, so {settings.layers} encoder and {deep} decoder layers must be equal."
        )
    if settings.cross == "joint" and settings.attention.output.name == "scored":
        raise ConfigError("cross = 'joint' keeps source and target apart, which output 'scored' cannot; use 'sum'.")
    if settings.cross == "joint" and settings.cross_attention:
        raise ConfigError("cross = 'joint' attends to the source with self-attention; drop cross_attention.")
    if settings.cross == "joint" and settings.attention.scope.name not in ("global", "window"):
        raise ConfigError(
            f"cross = 'joint' attends to source and target together, where scope {settings.attention.scope.name} has "
            "no meaning; use global or window."
        )
    refuse_length(settings.attention, "attention")
