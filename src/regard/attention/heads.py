"""Attention as models use it: single, multi-head (multi-query and grouped-query included), pooled, and in hops."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from pydantic import PositiveFloat
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.initialization import linear, start
from regard.attention.masks import FREE, Mask
from regard.attention.mechanism import Mechanism, MechanismSettings
from regard.attention.memory import Attended, History, Memory
from regard.attention.outputs import OUTPUTS
from regard.attention.places import At, Sizes
from regard.config import Part, make
from regard.errors import ConfigError, ModelError


class AttentionSettings(MechanismSettings):
    """An attention: its mechanism, and what is made of the context."""

    output: Part = Part(name="sum")


class HeadsSettings(AttentionSettings):
    """Attention in several heads; `groups` of keys and values are shared by heads / groups of them each.

    A head has width / heads numbers unless `each` says how many. `normed` divides every query and key of a head by its
    root mean square, with a learned gain, before positions turn them: products cannot grow without bound
    (Dehghani et al. 2023, 2.1; Qwen3).
    """

    heads: int = 8
    groups: int | None = None
    each: int | None = None
    normed: bool = False
    epsilon: PositiveFloat = 1e-6
    bias: bool = True
    initial: str = "xavier_uniform"
    gain: float = 1.0


@dataclass(frozen=True)
class Focus:
    """What a single attention gives: its output, its history, and its weights where they were asked to be explicit."""

    output: Float[Tensor, "B Q W"]
    history: History | None
    weights: Float[Tensor, "B Q K"] | None


class Attention(nn.Module):
    """output(context, query), context = sum_j weight_j value_j: one head, nothing projected but by the score.

    Keys and values may be different tensors: `remember(cells, hiddens)` looks things up by an LSTM's cell states and
    answers with its hidden states.
    """

    def __init__(
        self,
        settings: AttentionSettings,
        query: int,
        key: int,
        value: int | None = None,
        explicit: bool = False,
    ) -> None:
        super().__init__()
        sizes = Sizes(query, key, key if value is None else value)
        self.answer = make("output", OUTPUTS, settings.output, sizes, query, sizes.value)
        self.mechanism = Mechanism(settings, sizes, explicit or self.answer.explicit)
        self.width = self.answer.width

    def remember(
        self,
        keys: Float[Tensor, "B K M"],
        values: Float[Tensor, "B K W"] | None = None,
        real: Bool[Tensor, "B K"] | None = None,
        at: At | None = None,
    ) -> Memory:
        """Keys and values (the keys again if none are given), prepared once."""
        values = keys if values is None else values
        return self.mechanism.remember(keys[:, None], values[:, None], real, at)

    def forward(
        self,
        query: Float[Tensor, "R Q D"],
        memory: Memory,
        mask: Mask = FREE,
        at: At | None = None,
        history: History | None = None,
    ) -> Focus:
        attended = self.mechanism(query[:, None], memory, mask, at, history)
        weights = None if attended.weights is None else attended.weights[:, 0]
        context = self.answer.gather(attended, memory)[:, 0]
        return Focus(self.answer.finish(context, query), attended.history, weights)


class HeadNorm(nn.Module):
    """x / sqrt(mean(x^2) + e) * g, of every head's vectors alike; in the precision they come in."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Float[Tensor, "B T H E"]) -> Float[Tensor, "B T H E"]:
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.epsilon)


class MultiHeadAttention(nn.Module):
    """W_o [head_1; ...; head_H], head_h = attention(W_q q, W_k k, W_v v)   (Vaswani et al. 2017, 3.2.2).

    One group of keys for all heads is multi-query attention (Shazeer 2019); some groups, grouped-query (Ainslie 2023).
    """

    def __init__(self, settings: HeadsSettings, width: int, memory: int | None = None, explicit: bool = False) -> None:
        super().__init__()
        sizes = _sizes(settings, width)
        whole, shared = sizes.heads * sizes.key, sizes.groups * sizes.key
        self.heads, self.groups = sizes.heads, sizes.groups
        self.query = linear(width, whole, settings.bias, settings.initial)
        self.key = linear(memory or width, shared, settings.bias, settings.initial)
        # DeepNorm's gain is for what passes through, not for what decides where to look.
        self.value = linear(memory or width, shared, settings.bias, settings.initial, settings.gain)
        self.output = linear(whole, width, settings.bias, settings.initial, settings.gain)
        self.query_norm = HeadNorm(sizes.key, settings.epsilon) if settings.normed else None
        self.key_norm = HeadNorm(sizes.key, settings.epsilon) if settings.normed else None
        self.answer = make("output", OUTPUTS, settings.output, sizes, width, width)
        self.mechanism = Mechanism(settings, sizes, explicit or self.answer.explicit)

    def remember(
        self,
        source: Float[Tensor, "B K M"],
        real: Bool[Tensor, "B K"] | None = None,
        at: At | None = None,
        values: Float[Tensor, "B K M"] | None = None,
    ) -> Memory:
        """Projected keys and values of a source, ready to be attended to any number of times."""
        if source.shape[-1] != self.key.in_features:
            raise ModelError(
                f"The source has width {source.shape[-1]}, this attention was built for {self.key.in_features}."
            )
        keys_BGKE = _into_heads(self.key(source), self.groups, self.key_norm)
        values_BGKE = _into_heads(self.value(source if values is None else values), self.groups)
        return self.mechanism.remember(keys_BGKE, values_BGKE, real, at)

    def forward(
        self, query: Float[Tensor, "R Q D"], memory: Memory, mask: Mask = FREE, at: At | None = None
    ) -> Float[Tensor, "R Q D"]:
        return self.attend(query, memory, mask, at, None)[0]

    def attend(
        self, query: Float[Tensor, "R Q D"], memory: Memory, mask: Mask, at: At | None, history: History | None
    ) -> tuple[Float[Tensor, "R Q D"], History | None]:
        """The output, and the history that a mechanism which looks back wants at the next step."""
        if query.shape[-1] != self.query.in_features:
            raise ModelError(
                f"Queries have width {query.shape[-1]}, this attention was built for {self.query.in_features}."
            )
        asked_RHQE = _into_heads(self.query(query), self.heads, self.query_norm)
        attended = self.mechanism(asked_RHQE, memory, mask, at, history)
        return self._answered(attended, query, memory), attended.history

    def _answered(self, attended: Attended, query: Tensor, memory: Memory) -> Float[Tensor, "R Q D"]:
        heads_RHQW = self.answer.gather(attended, memory)
        return self.answer.finish(self.output(heads_RHQW.transpose(1, 2).flatten(2)), query)

    def joint(
        self, query: Float[Tensor, "R Q D"], shared: Memory, own: Memory, mask: Mask = FREE, at: At | None = None
    ) -> Float[Tensor, "R Q D"]:
        """Attention over a source's memory and a hypothesis's own as if they were one."""
        if self.answer.explicit:
            raise ModelError(
                f"Output {type(self.answer).__name__} reads the values and scores of one memory and cannot take two "
                "memories for one; choose another."
            )
        asked_RHQE = _into_heads(self.query(query), self.heads, self.query_norm)
        attended = self.mechanism.joint(asked_RHQE, shared, own, mask, at)
        return self._answered(attended, query, shared)


class AttentionPooling(nn.Module):
    """A learned query asks each text for one vector   (Yang et al. 2016, eq. 5-7).

    Its weights are static: computed once from the whole text, whoever uses the vector and how often. A decoder's
    attention is dynamic: recomputed for each step from the decoder's state.

    >>> from regard.attention import record
    >>> text, steps = torch.randn(1, 5, 4), torch.randn(3, 1, 1, 4)      # five states; three decoding steps
    >>> static = AttentionPooling(AttentionSettings.of(score="additive"), width=4)
    >>> with record(static) as seen:
    ...     vectors = [static(text) for step in steps]                    # the step does not come into it
    >>> [torch.equal(seen[0].tensor, later.tensor) for later in seen[1:]]
    [True, True]
    >>> dynamic = Attention(AttentionSettings.of(score="additive"), query=4, key=4)
    >>> memory = dynamic.remember(text)
    >>> with record(dynamic) as seen:
    ...     vectors = [dynamic(step, memory).output for step in steps]    # the step asks
    >>> [torch.equal(seen[0].tensor, later.tensor) for later in seen[1:]]
    [False, False]
    """

    def __init__(self, settings: AttentionSettings, width: int, queries: int = 1) -> None:
        super().__init__()
        self.attention = Attention(settings, width, width)
        self.question = nn.Parameter(torch.empty(queries, width))
        start(self.question.data, "xavier_uniform")

    def forward(
        self, states: Float[Tensor, "B K D"], real: Bool[Tensor, "B K"] | None = None
    ) -> Float[Tensor, "B N D"]:
        memory = self.attention.remember(states, real=real)
        focus: Focus = self.attention(self.question.expand(states.shape[0], -1, -1), memory)
        return focus.output


class Hops(nn.Module):
    """q <- W q + attention(q, memory), several times over one memory   (Sukhbaatar et al. 2015, 2.2)."""

    def __init__(self, attention: Attention, width: int, hops: int = 3) -> None:
        super().__init__()
        if hops < 1:
            raise ConfigError(f"hops={hops} must be 1 or more.")
        if attention.width != width:
            raise ConfigError(
                f"Hops add the attention's output (width {attention.width}) to the query (width {width}); "
                "make them equal."
            )
        self.attention, self.hops = attention, hops
        self.keep = linear(width, width, bias=False)

    def forward(self, query: Float[Tensor, "R Q D"], memory: Memory, mask: Mask = FREE) -> Float[Tensor, "R Q D"]:
        for _ in range(self.hops):
            query = self.keep(query) + self.attention(query, memory, mask).output
        return query


def _sizes(settings: HeadsSettings, width: int) -> Sizes:
    if settings.heads < 1 or (settings.each is None and width % settings.heads):
        raise ConfigError(
            f"{settings.heads} heads do not divide a width of {width}; choose a divisor of {width}, or set `each`."
        )
    each = width // settings.heads if settings.each is None else settings.each
    if each < 1:
        raise ConfigError(f"each = {each} numbers are no head; give 1 or more.")
    groups = settings.heads if settings.groups is None else settings.groups
    if groups < 1 or settings.heads % groups:
        raise ConfigError(f"{settings.heads} heads do not divide into {groups} groups; choose a divisor.")
    return Sizes(each, each, each, settings.heads, groups)


def _into_heads(vectors: Float[Tensor, "B T D"], heads: int, norm: nn.Module | None = None) -> Float[Tensor, "B H T E"]:
    """Normed where they lie side by side, so that a step rounds as the whole does."""
    apart_BTHE = vectors.unflatten(-1, (heads, -1))
    return (apart_BTHE if norm is None else norm(apart_BTHE)).transpose(1, 2)
