"""The Transformer's block: self-attention, attention to a source, feed-forward, each with a residual."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Bool, Float, Int
from pydantic import PositiveInt
from torch import Tensor, nn

from regard.attention import FREE, At, HeadsSettings, History, Mask, Memory, MultiHeadAttention, Tap
from regard.config import Part, Rate, Settings, make
from regard.errors import ConfigError
from regard.nn.dropout import Dropout
from regard.nn.feedforward import FeedForward, FeedForwardSettings
from regard.nn.norms import NORMS


class BlockSettings(Settings):
    """What every block of a stack is made of."""

    width: PositiveInt = 512
    attention: HeadsSettings = HeadsSettings()
    feedforward: FeedForwardSettings = FeedForwardSettings()
    norm: Part = Part(name="layer")
    # post: norm(x + f(x)), the paper; pre: x + f(norm(x)); deepnorm: norm(a x + f(x)), a from the depth.
    place: Literal["post", "pre", "deepnorm"] = "post"
    dropout: Rate = 0.1
    initial: str = "xavier_uniform"


@dataclass(frozen=True)
class Depth:
    """DeepNorm's two constants: residuals grow by `alpha`, what passes through starts smaller by `beta`."""

    alpha: float = 1.0
    beta: float = 1.0

    @classmethod
    def alone(cls, layers: int) -> "Depth":
        """For an encoder or a decoder by itself   (Wang et al. 2022, table 1)."""
        return cls((2 * layers) ** 0.25, (8 * layers) ** -0.25)

    @classmethod
    def encoder(cls, layers: int, decoder: int) -> "Depth":
        return cls(0.81 * (layers**4 * decoder) ** 0.0625, 0.87 * (layers**4 * decoder) ** -0.0625)

    @classmethod
    def decoder(cls, layers: int) -> "Depth":
        return cls((3 * layers) ** 0.25, (12 * layers) ** -0.25)


@dataclass(frozen=True)
class Scene:
    """What the pieces of one pass have in common: which are real, where they stand, what each may see of the others."""

    real: Bool[Tensor, "B T"] | None
    at: At
    mask: Mask = FREE


@dataclass(frozen=True)
class Past:
    """What one block keeps of each hypothesis: its own keys and values so far, and the cross-attention's history."""

    memory: Memory | None = None
    history: History | None = None

    def select(self, rows: Int[Tensor, " R"]) -> "Past":
        return Past(
            None if self.memory is None else self.memory.select(rows),
            None if self.history is None else self.history.select(rows),
        )


class Residual(nn.Module):
    """norm(a x + drop(f(x))), or x + drop(f(norm(x)))."""

    def __init__(self, settings: BlockSettings, depth: Depth) -> None:
        super().__init__()
        self.before = settings.place == "pre"
        self.alpha = depth.alpha if settings.place == "deepnorm" else 1.0
        self.norm = make("norm", NORMS, settings.norm, settings.width)
        self.dropout = Dropout(settings.dropout)

    def forward(
        self, x: Float[Tensor, "B T D"], layer: Callable[[Tensor], Tensor], real: Bool[Tensor, "B T"] | None
    ) -> Float[Tensor, "B T D"]:
        if self.before:
            return x + self.dropout(layer(self.norm(x, real)))
        kept = x if self.alpha == 1.0 else x * self.alpha
        return self.norm(kept + self.dropout(layer(x)), real)


class Block(nn.Module):
    """Self-attention, then attention to a source if the block is a decoder's, then feed-forward.

    A block without cross-attention that is given a source attends to source and target jointly   (He et al. 2018).
    """

    def __init__(
        self, settings: BlockSettings, depth: Depth | None = None, crossing: HeadsSettings | None = None
    ) -> None:
        super().__init__()
        depth = depth or Depth()
        self.attention = MultiHeadAttention(_heads(settings, settings.attention, depth), settings.width)
        self.cross = MultiHeadAttention(_heads(settings, crossing, depth), settings.width) if crossing else None
        gain = depth.beta if settings.place == "deepnorm" else 1.0
        self.feedforward = FeedForward(settings.feedforward, settings.width, settings.initial, gain)
        self.around_attention, self.around_feedforward = Residual(settings, depth), Residual(settings, depth)
        self.around_cross = Residual(settings, depth) if crossing else None
        self.output = Tap("BTD")
        if self.attention.mechanism.recurrent:
            raise ConfigError(
                "Self-attention grows its keys at every step, so a score or scope that looks back at earlier weights "
                "cannot serve there; use it in cross_attention."
            )

    def remember(self, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"] | None) -> Memory:
        """A source as this block will attend to it."""
        attention = self.attention if self.cross is None else self.cross
        return attention.remember(states, real)

    def forward(
        self, x: Float[Tensor, "R T D"], scene: Scene, past: Past, source: Memory | None = None
    ) -> tuple[Float[Tensor, "R T D"], Past]:
        """The block's output, and what it will want to know of these pieces at the next step."""
        memory, history = past.memory, past.history

        def own(inner: Tensor) -> Tensor:
            nonlocal memory
            new = self.attention.remember(inner, scene.real, scene.at)
            memory = new if memory is None else memory.extend(new)
            if source is None or self.cross is not None:
                return self.attention(inner, memory, scene.mask, scene.at)
            return self.attention.joint(inner, source, memory, scene.mask, scene.at)

        def cross(inner: Tensor) -> Tensor:
            nonlocal history
            assert self.cross is not None
            assert source is not None
            output, history = self.cross.attend(inner, source, FREE, scene.at, history)
            return output

        x = self.around_attention(x, own, scene.real)
        if self.around_cross is not None:
            x = self.around_cross(x, cross, scene.real)
        x = self.around_feedforward(x, self.feedforward, scene.real)
        return self.output(x), Past(memory, history)


def _heads(settings: BlockSettings, attention: HeadsSettings, depth: Depth) -> HeadsSettings:
    """The attention as the block starts it, where it does not say so itself."""
    start = {"initial": settings.initial, "gain": depth.beta if settings.place == "deepnorm" else attention.gain}
    unsaid = start.keys() - attention.model_fields_set
    return attention.model_copy(update={name: start[name] for name in unsaid})
