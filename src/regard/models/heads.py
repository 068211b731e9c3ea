"""What is asked of hidden states: next pieces, masked pieces, labels, tags, spans."""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import AttentionPooling, AttentionSettings, PointerGenerator, Tap, linear
from regard.attention.copying import Chosen
from regard.config import Settings
from regard.errors import ModelError
from regard.models.protocols import Decoded
from regard.nn import native
from regard.nn.agreement import agreeing_cross_entropy
from regard.nn.crf import CRF
from regard.nn.dropout import Dropout
from regard.nn.embeddings import Embedding, Readout
from regard.nn.feedforward import activation as named
from regard.nn.losses import (
    IGNORE,
    Loss,
    chosen_loss,
    chunked_cross_entropy,
    distribution_loss,
    smoothed_cross_entropy,
)
from regard.nn.norms import LayerNorm


class NextPiece(nn.Module):
    """P(next piece) = softmax(E h), never holding all logits of a large batch for its loss."""

    def __init__(self, width: int, vocabulary: int, tied: Embedding | None = None, bias: bool = False) -> None:
        super().__init__()
        self.readout = Readout(width, vocabulary, tied, bias)

    def log_probabilities(self, decoded: Decoded) -> Float[Tensor, "B T V"]:
        logits_BTV = self.readout(decoded.hidden)
        return native.log_softmax(logits_BTV) if native.serves(logits_BTV) else logits_BTV.log_softmax(-1)

    def loss(self, decoded: Decoded, targets: Int[Tensor, "B T"], smoothing: float = 0.0, ignore: int = IGNORE) -> Loss:
        hidden_ND = self.readout.reduced(decoded.hidden).flatten(0, 1)
        return chunked_cross_entropy(
            hidden_ND, self.readout.weight, self.readout.bias, targets.flatten(), smoothing, ignore
        )

    def agreeing(
        self, twice: Decoded, targets: Int[Tensor, "B T"], agreement: float, smoothing: float, ignore: int = IGNORE
    ) -> Loss:
        """Of a batch that was decoded twice, all rows once and then again: the loss of both, and that they differ."""
        hidden_ND, readout = self.readout.reduced(twice.hidden).flatten(0, 1), self.readout
        return agreeing_cross_entropy(
            hidden_ND, readout.weight, readout.bias, targets.flatten(), agreement, smoothing, ignore
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
        chosen = self.chosen(decoded, targets.masked_fill(targets == ignore, 0))
        return chosen_loss(chosen.log.flatten(), chosen.mean.flatten(), targets.flatten(), smoothing, ignore)

    def chosen(self, decoded: Decoded, targets: Int[Tensor, "B T"]) -> Chosen:
        """How likely these pieces are, and how much of that is copying."""
        assert decoded.weights is not None
        assert decoded.source is not None
        logits_BTV = self.readout(decoded.hidden)
        return self.pointer.chosen(logits_BTV, decoded.weights, decoded.source, decoded.hidden, targets)


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

    def loss(
        self, states: Float[Tensor, "B T D"], targets: Int[Tensor, "B T"], ignore: int = IGNORE, smoothing: float = 0.0
    ) -> Loss:
        """Of what was hidden only: the rest of a text is not even transformed."""
        wanted_BT, readout = targets != ignore, self.readout
        hidden_ND = readout.reduced(self._hidden(states[wanted_BT][None]))[0]
        return chunked_cross_entropy(hidden_ND, readout.weight, readout.bias, targets[wanted_BT], smoothing, ignore)


class PoolingSettings(Settings):
    """How a text becomes one vector: attention with a learned query, the mean, the maximum, or its first state; with
    `layer` f(W x + b) of that: tanh as in BERT, relu as in DistilBERT."""

    how: Literal["attention", "mean", "maximum", "first"] = "attention"
    attention: AttentionSettings = AttentionSettings.model_validate({"score": "additive"})
    layer: Literal["none", "tanh", "relu"] = "none"


class Pooling(nn.Module):
    """One vector a text, from its real positions only; of zeros for a text without any."""

    def __init__(self, settings: PoolingSettings, width: int) -> None:
        super().__init__()
        self.settings, self.how = settings, settings.how
        self.attention = AttentionPooling(settings.attention, width) if settings.how == "attention" else None
        self.layer = None if settings.layer == "none" else linear(width, width)

    def forward(self, states: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B D"]:
        vector_BD = self._pooled(states, real)
        return vector_BD if self.layer is None else getattr(torch, self.settings.layer)(self.layer(vector_BD))

    def _pooled(self, states: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None) -> Float[Tensor, "B D"]:
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


class Moves(NamedTuple):
    """Which tag may follow which (`between[i, j]`: j after i), which may begin a text and which may end one."""

    between: Bool[Tensor, "C C"]
    start: Bool[Tensor, " C"] | None = None
    end: Bool[Tensor, " C"] | None = None


class Tags(nn.Module):
    """One tag a position: W h + b, each on its own, or the best path of a conditional random field."""

    def __init__(
        self, width: int, tags: int, crf: bool = False, dropout: float = 0.1, moves: Moves | None = None
    ) -> None:
        """`moves` binds a CRF only: tags that are chosen each on its own know of no neighbours."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.classify = linear(width, tags)
        self.crf = CRF(tags, *(moves or ())) if crf else None
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

    def marginals(self, emissions: Float[Tensor, "B T C"], real: Bool[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """The probability of each tag at each position, whatever its neighbours are; zero at padding."""
        if self.crf is None:
            return emissions.softmax(-1).masked_fill(~real[..., None], 0.0)
        return self.crf.marginals(emissions, real)


class Answers(NamedTuple):
    """The best span of each text (first and last position), its score, and the score of there being no answer."""

    places: Int[Tensor, "B 2"]
    score: Float[Tensor, " B"]
    none: Float[Tensor, " B"]


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

    @staticmethod
    def answers(logits: Float[Tensor, "B T 2"], longest: int) -> Answers:
        """The best span past position 0, which stands for "no answer"; 0 and -inf where nothing else is allowed."""
        opening_T1 = (torch.arange(logits.shape[1], device=logits.device) == 0)[:, None]
        places_B2, score_B = Spans.best(logits.masked_fill(opening_T1, -torch.inf), longest)
        return Answers(places_B2, score_B, logits[:, 0].sum(-1))

    @staticmethod
    def loss(logits: Float[Tensor, "B T 2"], start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> Loss:
        """-(log p(start) + log p(end)) / 2, summed over texts; a text without an answer has both at 0."""
        ends = zip(("start", "end"), logits.unbind(-1), (start, end), strict=True)
        first, last = (_chosen(name, logits_BT, wanted) for name, logits_BT, wanted in ends)
        return Loss((first.total + last.total) / 2, first.count, (first.nll + last.nll) / 2)


def _chosen(name: str, logits: Float[Tensor, "B T"], wanted: Int[Tensor, " B"]) -> Loss:
    """-log p(wanted), where every wanted position is one that is allowed."""
    inside_B = (wanted >= 0) & (wanted < logits.shape[1])
    logit_B = logits.gather(1, wanted.clamp(0, logits.shape[1] - 1)[:, None])[:, 0]
    wrong = (~inside_B | (logit_B == torch.finfo(logits.dtype).min)).nonzero().flatten().tolist()
    if wrong:
        raise ModelError(
            f"Row {wrong[0]}: the answer's {name} is position {int(wanted[wrong[0]])}, where none may be; "
            "allow it, or say that this part of the text has no answer (0)."
        )
    return smoothed_cross_entropy(logits, wanted)


HEADS: dict[str, type[nn.Module]] = {
    "next_piece": NextPiece,
    "copying_piece": CopyingPiece,
    "masked_piece": MaskedPiece,
    "labels": Labels,
    "tags": Tags,
    "spans": Spans,
}
