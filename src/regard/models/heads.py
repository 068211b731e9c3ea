"""What is asked of hidden states: next pieces, masked pieces, labels, tags, spans."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import AttentionPooling, AttentionSettings, PointerGenerator, Tap, linear
from regard.config import Settings
from regard.errors import ModelError
from regard.models.protocols import Decoded
from regard.nn.crf import CRF
from regard.nn.dropout import Dropout
from regard.nn.embeddings import Embedding, Readout
from regard.nn.feedforward import activation as named
from regard.nn.losses import IGNORE, Loss, chunked_cross_entropy, distribution_loss
from regard.nn.norms import LayerNorm


class NextPiece(nn.Module):
    """P(next piece) = softmax(E h), never holding all logits of a large batch for its loss."""

    def __init__(self, width: int, vocabulary: int, tied: Embedding | None = None, bias: bool = False) -> None:
        super().__init__()
        self.readout = Readout(width, vocabulary, tied, bias)

    def log_probabilities(self, decoded: Decoded) -> Float[Tensor, "B T V"]:
        return self.readout(decoded.hidden).log_softmax(-1)

    def loss(self, decoded: Decoded, targets: Int[Tensor, "B T"], smoothing: float = 0.0, ignore: int = IGNORE) -> Loss:
        hidden_ND = self.readout.reduced(decoded.hidden).flatten(0, 1)
        return chunked_cross_entropy(
            hidden_ND, self.readout.weight, self.readout.bias, targets.flatten(), smoothing, ignore
        )


class CopyingPiece(NextPiece):
    """The next piece, generated or copied from the source   (See et al. 2017)."""

    def __init__(self, width: int, vocabulary: int, tied: Embedding | None = None, bias: bool = False) -> None:
        super().__init__(width, vocabulary, tied, bias)
        self.pointer = PointerGenerator(width)

    def log_probabilities(self, decoded: Decoded) -> Float[Tensor, "B T V"]:
        assert decoded.weights is not None
        assert decoded.source is not None
        return self.pointer(self.readout(decoded.hidden), decoded.weights, decoded.source, decoded.hidden)

    def loss(self, decoded: Decoded, targets: Int[Tensor, "B T"], smoothing: float = 0.0, ignore: int = IGNORE) -> Loss:
        return distribution_loss(self.log_probabilities(decoded).flatten(0, 1), targets.flatten(), smoothing, ignore)


class MaskedPiece(nn.Module):
    """softmax(E norm(f(W h)) + b): which piece stood where one was hidden   (Devlin et al. 2019)."""

    def __init__(self, width: int, tied: Embedding, activation: str = "gelu", epsilon: float = 1e-5) -> None:
        super().__init__()
        self.transform = linear(width, width)
        self.activation, self.norm = named(activation), LayerNorm(width, epsilon=epsilon)
        self.readout = Readout(width, tied.vocabulary, tied, bias=True)

    def _hidden(self, states: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.norm(self.activation(self.transform(states)))

    def forward(self, states: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        return self.readout(self._hidden(states))

    def loss(self, states: Float[Tensor, "B T D"], targets: Int[Tensor, "B T"], ignore: int = IGNORE) -> Loss:
        hidden_ND = self.readout.reduced(self._hidden(states)).flatten(0, 1)
        return chunked_cross_entropy(hidden_ND, self.readout.weight, self.readout.bias, targets.flatten(), 0.0, ignore)


class PoolingSettings(Settings):
    """How a text becomes one vector: attention with a learned query, the mean, the maximum, or its first state."""

    how: Literal["attention", "mean", "maximum", "first"] = "attention"
    attention: AttentionSettings = AttentionSettings.model_validate({"score": "additive"})


class Pooling(nn.Module):
    """One vector a text, from its real positions only; zeros for a text without any."""

    def __init__(self, settings: PoolingSettings, width: int) -> None:
        super().__init__()
        self.how = settings.how
        self.attention = AttentionPooling(settings.attention, width) if settings.how == "attention" else None

    def forward(self, states: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B D"]:
        if self.attention is not None:
            return self.attention(states, real)[:, 0]
        real = torch.ones_like(states[..., 0], dtype=torch.bool) if real is None else real
        if self.how == "mean":
            return (states * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1)
        if self.how == "maximum":
            highest_BD = states.masked_fill(~real[..., None], torch.finfo(states.dtype).min).amax(1)
            return highest_BD * real.any(1, keepdim=True)
        return states[:, 0] * real[:, :1]


class Labels(nn.Module):
    """W pool(states) + b: one score a class for each text."""

    def __init__(self, width: int, classes: int, pooling: PoolingSettings | None = None, dropout: float = 0.1) -> None:
        super().__init__()
        self.pooling = Pooling(pooling or PoolingSettings(), width)
        self.dropout = Dropout(dropout)
        self.classify = linear(width, classes)
        self.logits = Tap("BC")

    def forward(self, states: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B C"]:
        return self.logits(self.classify(self.dropout(self.pooling(states, real))))


class Tags(nn.Module):
    """One tag a position: W h + b, each on its own, or the best path of a conditional random field."""

    def __init__(self, width: int, tags: int, crf: bool = False, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.classify = linear(width, tags)
        self.crf = CRF(tags) if crf else None
        self.emissions = Tap("BTC")

    def forward(self, states: Float[Tensor, "B T D"]) -> Float[Tensor, "B T C"]:
        return self.emissions(self.classify(self.dropout(states)))

    def loss(self, emissions: Float[Tensor, "B T C"], tags: Int[Tensor, "B T"], real: Bool[Tensor, "B T"]) -> Loss:
        """Summed over tags (without CRF) or over texts' tags (with): in both cases counted by real positions."""
        if self.crf is None:
            wanted = tags.masked_fill(~real, IGNORE).flatten()
            return distribution_loss(emissions.flatten(0, 1).log_softmax(-1), wanted)
        total = -self.crf.log_likelihood(emissions, tags, real).sum()
        return Loss(total, real.sum(), total.detach())

    def best(self, emissions: Float[Tensor, "B T C"], real: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        """The likeliest tags; -1 at padding."""
        if self.crf is None:
            return emissions.argmax(-1).masked_fill(~real, -1)
        return self.crf.decode(emissions, real)[0]


class Spans(nn.Module):
    """Where an answer starts and where it ends: two scores a position, forbidden ones at the lowest number there is."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.classify = linear(width, 2)
        self.logits = Tap("BTC")

    def forward(
        self, states: Float[Tensor, "B T D"], allowed: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T 2"]:
        logits_BT2 = self.logits(self.classify(states))
        if allowed is None:
            return logits_BT2
        return logits_BT2.masked_fill(~allowed[..., None], torch.finfo(logits_BT2.dtype).min)

    @staticmethod
    def best(logits: Float[Tensor, "B T 2"], longest: int) -> tuple[Int[Tensor, "B 2"], Float[Tensor, " B"]]:
        """argmax start_i + end_j over i <= j < i + longest: first and last position, and the score."""
        if longest < 1:
            raise ModelError(f"longest = {longest} leaves no span at all; give 1 or more.")
        sums_BTT = logits[:, :, None, 0] + logits[:, None, :, 1]
        legal_TT = torch.ones_like(sums_BTT[0], dtype=torch.bool).triu().tril(longest - 1)
        score, place = sums_BTT.masked_fill(~legal_TT, -torch.inf).flatten(1).max(1)
        size = logits.shape[1]
        return torch.stack([place // size, place % size], dim=1), score


HEADS: dict[str, type[nn.Module]] = {
    "next_piece": NextPiece,
    "copying_piece": CopyingPiece,
    "masked_piece": MaskedPiece,
    "labels": Labels,
    "tags": Tags,
    "spans": Spans,
}
