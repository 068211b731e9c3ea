"""The Transformer as a graph: the same parameters, and attention written out so that no length is fixed in it.

Our own attention decides by shapes which kernel to take and where to draw a mask; a graph must not.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from regard.attention import MultiHeadAttention
from regard.attention.heads import HeadNorm
from regard.attention.places import Place
from regard.errors import ConfigError
from regard.models import StackSettings, Transformer, TransformerEncoder, TransformerLanguage, TransformerSettings
from regard.models.protocols import Decoded
from regard.models.transformer import Stack
from regard.nn.blocks import Block, Residual
from regard.nn.norms import RMSNorm

PLAIN = {"score": ("scaled_dot", "dot"), "scope": ("global",), "normalizer": ("softmax",), "output": ("sum",)}


def check(settings: StackSettings) -> None:
    """A ConfigError that names the first setting there is no graph for."""
    for setting, why in _faults(settings):
        raise ConfigError(f"There is no ONNX graph for a model with {setting}: {why}. Use the engine torch.")


def expresses(settings: StackSettings) -> bool:
    """Whether there is a graph for a model with these settings."""
    return not any(True for _ in _faults(settings))


def _faults(settings: StackSettings) -> Iterator[tuple[str, str]]:
    heads = [("attention", settings.attention)]
    if isinstance(settings, TransformerSettings):
        heads += [("cross_attention", settings.cross_attention)] if settings.cross_attention is not None else []
        if settings.cross != "last":
            yield f"cross = {settings.cross}", "its decoder reads the last encoder layer"
        if settings.copying:
            yield "copying", "it writes from its vocabulary only"
    for name, attention in heads:
        for what, known in PLAIN.items():
            part = getattr(attention, what)
            if part.name not in known or part.options:
                yield f"{name}.{what} = {part}", "its attention is Vaswani et al.'s"
    if settings.norm.name == "batch":
        yield "norm = batch", "it knows layer, rms and none"


class Known(Place):
    """Where queries and keys stand, every one of them: nothing to be asked while a graph is drawn."""

    unknown = None


class Heads(nn.Module):
    """W_o [head_1; ...; head_H] over keys and values that are given."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (
            attention.query,
            attention.key,
            attention.value,
            attention.output,
        )
        mechanism = attention.mechanism
        self.heads, self.groups = attention.heads, attention.groups
        self.scale = mechanism.sizes.key**-0.5 if mechanism.settings.score.name == "scaled_dot" else 1.0
        self.position, self.width = mechanism.position, mechanism.sizes.key
        self.query_norm, self.key_norm = map(_written_out, (attention.query_norm, attention.key_norm))

    def remember(
        self, x: Float[Tensor, "B K D"], at: Int[Tensor, "B K"]
    ) -> tuple[Float[Tensor, "B G K E"], Float[Tensor, "B G K E"]]:
        keys_BGKE = self.position.rotate(self.key_norm(self._split(self.key(x), self.groups)), at)
        return keys_BGKE, self._split(self.value(x), self.groups)

    def forward(
        self,
        x: Float[Tensor, "B Q D"],
        keys: Float[Tensor, "B G K E"],
        values: Float[Tensor, "B G K E"],
        allowed: Bool[Tensor, "B #Q K"],
        at: Int[Tensor, "B Q"],
        at_key: Int[Tensor, "B K"],
    ) -> Float[Tensor, "B Q D"]:
        place = Known(at, at_key, slice(None), slice(None), x.device)
        query_BHQE = self.position.rotate(self.query_norm(self._split(self.query(x), self.heads)), at)
        scores_BHQK = query_BHQE @ self._shared(keys).transpose(-1, -2) * self.scale
        bias_BHQK = self.position.bias(query_BHQE, place)
        if bias_BHQK is not None:
            scores_BHQK = scores_BHQK + bias_BHQK
        weights_BHQK = scores_BHQK.masked_fill(~allowed[:, None], torch.finfo(x.dtype).min).softmax(-1)
        context_BHQE = weights_BHQK @ self._shared(values)
        more_BHQE = self.position.mix(weights_BHQK, place)
        if more_BHQE is not None:
            context_BHQE = context_BHQE + more_BHQE
        return self.output(context_BHQE.transpose(1, 2).flatten(2))

    def _split(self, x: Float[Tensor, "B T D"], heads: int) -> Float[Tensor, "B H T E"]:
        return x.unflatten(-1, (heads, self.width)).transpose(1, 2)

    def _shared(self, x: Float[Tensor, "B G K E"]) -> Float[Tensor, "B H K E"]:
        """Each group's keys or values once for each of its heads."""
        return x if self.groups == self.heads else x.repeat_interleave(self.heads // self.groups, dim=1)


class RMS(nn.Module):
    """x / sqrt(mean(x^2) + e) * g, written out."""

    def __init__(self, weight: Float[Tensor, " D"], epsilon: float) -> None:
        super().__init__()
        self.weight, self.epsilon = weight, epsilon

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        return x * (x.pow(2).mean(-1, keepdim=True) + self.epsilon).rsqrt() * self.weight


def _written_out(norm: nn.Module | None) -> nn.Module:
    if isinstance(norm, RMSNorm | HeadNorm):
        return RMS(norm.weight, norm.epsilon)
    return nn.Identity() if norm is None else norm


class Around(nn.Module):
    """norm(a x + f(x)), or x + f(norm(x)), in two halves: what f is given, and what is made of its answer."""

    def __init__(self, residual: Residual) -> None:
        super().__init__()
        self.before, self.alpha = residual.before, residual.alpha
        self.norm = _written_out(residual.norm)

    def given(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.norm(x) if self.before else x

    def made(self, x: Float[Tensor, "B T D"], answer: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return x + answer if self.before else self.norm(x * self.alpha + answer)


class Layer(nn.Module):
    """A block over the keys and values of its own past, and of a source if it has one."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.attention, self.around_attention = Heads(block.attention), Around(block.around_attention)
        self.cross = None if block.cross is None else Heads(block.cross)
        self.around_cross = None if block.around_cross is None else Around(block.around_cross)
        self.feedforward, self.around_feedforward = block.feedforward, Around(block.around_feedforward)

    def forward(
        self,
        x: Float[Tensor, "B Q D"],
        allowed: Bool[Tensor, "B #Q K"],
        at: Int[Tensor, "B Q"],
        at_key: Int[Tensor, "B K"],
        past: tuple[Tensor, Tensor] | None = None,
        source: tuple[Tensor, Tensor, Tensor] | None = None,
    ) -> tuple[Float[Tensor, "B Q D"], tuple[Tensor, Tensor]]:
        inner = self.around_attention.given(x)
        keys, values = self.attention.remember(inner, at)
        if past is not None:
            keys, values = torch.cat([past[0], keys], dim=2), torch.cat([past[1], values], dim=2)
        x = self.around_attention.made(x, self.attention(inner, keys, values, allowed, at, at_key))
        if self.cross is not None and self.around_cross is not None and source is not None:
            inner = self.around_cross.given(x)
            found = self.cross(inner, source[0], source[1], source[2][:, None], at, positions(source[2]))
            x = self.around_cross.made(x, found)
        x = self.around_feedforward.made(x, self.feedforward(self.around_feedforward.given(x)))
        return x, (keys, values)


class Layers(nn.Module):
    """All blocks and the norm after them."""

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(block) for block in stack.each())
        self.norm = _written_out(stack.norm)

    def each(self) -> Iterator[Layer]:
        for layer in self.layers:
            assert isinstance(layer, Layer)
            yield layer


class EncoderGraph(nn.Module):
    """pieces, real (and segments, and what stands beside) -> states."""

    def __init__(self, encoder: TransformerEncoder) -> None:
        super().__init__()
        check(encoder.settings)
        self.embedding, self.stack = encoder.embedding, Layers(encoder.stack)

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        at = positions(pieces)
        x = self.embedding(pieces, at, segments, beside)
        for layer in self.stack.each():
            x, _ = layer(x, real[:, None], at, at)
        return self.stack.norm(x)


class SequenceStart(nn.Module):
    """source, real -> real, each layer's keys and values of the source, and empty ones of the target."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        check(model.settings)
        self.encoder, self.decoder = EncoderGraph(model.encoder), Layers(model.decoder)

    def forward(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"]) -> tuple[Tensor, ...]:
        states, at = self.encoder(source, real), positions(source)
        layers = list(self.decoder.each())
        memories = [memory for layer in layers if layer.cross for memory in layer.cross.remember(states, at)]
        empty = [layer.attention.remember(states[:, :1], at[:, :1])[0][:, :, :0] for layer in layers]
        return (real, *memories, *(each for one in empty for each in (one, one)))


class SequenceStep(nn.Module):
    """pieces and all that start gave -> log-probabilities of the next piece, and the target's keys and values."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.embedding, self.decoder, self.output = model.embedding, Layers(model.decoder), model.output

    def forward(self, pieces: Int[Tensor, " R"], *state: Tensor) -> tuple[Tensor, ...]:
        count = len(self.decoder.layers)
        real, memories, pasts = state[0], state[1 : 1 + 2 * count], state[1 + 2 * count :]
        past_RT = torch.ones_like(pasts[0][:, 0, :, 0], dtype=torch.bool)
        at = past_RT.long().sum(1, keepdim=True)
        x, after = self.embedding(pieces[:, None], at), []
        known_RK = torch.cat([past_RT, torch.ones_like(at, dtype=torch.bool)], dim=1)
        for number, layer in enumerate(self.decoder.each()):
            past = pasts[2 * number], pasts[2 * number + 1]
            source = memories[2 * number], memories[2 * number + 1], real
            x, kept = layer(x, known_RK[:, None], at, positions(known_RK), past, source)
            after += list(kept)
        return (self.output.log_probabilities(Decoded(self.decoder.norm(x)))[:, 0], *after)


class LanguageStart(nn.Module):
    """pieces before the last, real -> which are real, and each layer's keys and values."""

    def __init__(self, model: TransformerLanguage) -> None:
        super().__init__()
        check(model.settings)
        self.embedding, self.decoder = model.embedding, Layers(model.decoder)

    def forward(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"]) -> tuple[Tensor, ...]:
        at = positions(source)
        allowed_BQK = real[:, None] & (at[:, None, :] <= at[:, :, None])
        x, kept = self.embedding(source, at), []
        for layer in self.decoder.each():
            x, both = layer(x, allowed_BQK, at, at)
            kept += list(both)
        return (real, *kept)


class LanguageStep(nn.Module):
    """pieces and all that start gave -> log-probabilities of the next piece, and the same with that piece read."""

    def __init__(self, model: TransformerLanguage) -> None:
        super().__init__()
        self.embedding, self.decoder, self.output = model.embedding, Layers(model.decoder), model.output

    def forward(self, pieces: Int[Tensor, " R"], *state: Tensor) -> tuple[Tensor, ...]:
        real, pasts = state[0], state[1:]
        at = real.long().sum(1, keepdim=True)
        known_RK = torch.cat([real, torch.ones_like(at, dtype=torch.bool)], dim=1)
        # What was padding of a prompt stands between its pieces and those written since, and counts for nothing.
        at_key = known_RK.long().cumsum(1) - 1
        x, after = self.embedding(pieces[:, None], at), []
        for number, layer in enumerate(self.decoder.each()):
            x, kept = layer(x, known_RK[:, None], at, at_key, (pasts[2 * number], pasts[2 * number + 1]))
            after += list(kept)
        return (self.output.log_probabilities(Decoded(self.decoder.norm(x)))[:, 0], known_RK, *after)


def positions(pieces: Shaped[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """0, 1, 2, ... for each row, as many as there are pieces."""
    return torch.ones_like(pieces, dtype=torch.int64).cumsum(1) - 1
