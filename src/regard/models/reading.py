"""A recurrent reader: question and passage apart, each passage state beside what the question says to it."""

import torch
from jaxtyping import Bool, Float, Int
from pydantic import PositiveInt
from torch import Tensor, nn

from regard.attention import Attention, AttentionSettings, Tap, linear
from regard.config import Rate, Settings
from regard.models.heads import Answers, Pooling, PoolingSettings, Spans
from regard.models.protocols import if_ragged
from regard.models.understanding import reads
from regard.nn.dropout import Dropout
from regard.nn.losses import Loss
from regard.nn.recurrent import Recurrent, RecurrentSettings


class DocumentReaderSettings(Settings):
    """How the passage asks the question, how the question is summed up, and what reads the two together."""

    attention: AttentionSettings = AttentionSettings.model_validate({"score": "general"})
    question: PoolingSettings = PoolingSettings()
    width: PositiveInt = 128
    layers: PositiveInt = 1
    dropout: Rate = 0.2


class DocumentReader(nn.Module):
    """start = M W_s q, end = M W_e q, M = lstm([p; a; p * a; in question])   (Chen et al. 2017; Seo et al. 2017).

    p are the passage's states, a what each of them finds in the question, q the question in one vector; one encoder
    reads both. Column 0 of what comes out is "no answer", the passage's position i is column i + 1.
    """

    Settings = DocumentReaderSettings

    def __init__(self, encoder: nn.Module, settings: DocumentReaderSettings) -> None:
        super().__init__()
        self.settings, self.encoder = settings, encoder
        width = reads(encoder).width
        self.attention = Attention(settings.attention, width, width)
        second = RecurrentSettings(
            width=settings.width, layers=settings.layers, both_ways=True, dropout=settings.dropout
        )
        self.second = Recurrent(second, 3 * width + 1)
        self.question = Pooling(settings.question, width)
        self.whole = Pooling(PoolingSettings(how="maximum"), settings.width)
        self.asks = linear(width, 2 * settings.width)
        self.none = linear(width + settings.width, 2)
        self.dropout = Dropout(settings.dropout)
        self.logits = Tap("BTC")

    def forward(
        self,
        question: Int[Tensor, "B Q"],
        question_real: Bool[Tensor, "B Q"],
        passage: Int[Tensor, "B P"],
        passage_real: Bool[Tensor, "B P"],
        allowed: Bool[Tensor, "B P"] | None = None,
    ) -> Float[Tensor, "B T 2"]:
        """`allowed` is True where an answer may start and end; unless told otherwise at every real piece."""
        question_BQD = self.dropout(self.encoder(question, question_real))
        passage_BPD = self.dropout(self.encoder(passage, passage_real))
        shared_BP = _shared(question, question_real, passage)
        read_BPW = self._read(question_BQD, question_real, passage_BPD, passage_real, shared_BP)
        logits_BT2 = self._score(self.question(question_BQD, question_real), read_BPW, passage_real)
        allowed_BP = passage_real if allowed is None else allowed & passage_real
        allowed_BT = torch.cat([torch.ones_like(allowed_BP[:, :1]), allowed_BP], dim=1)
        return self.logits(logits_BT2).masked_fill(~allowed_BT[..., None], torch.finfo(logits_BT2.dtype).min)

    def _read(
        self,
        question: Float[Tensor, "B Q D"],
        question_real: Bool[Tensor, "B Q"],
        passage: Float[Tensor, "B P D"],
        passage_real: Bool[Tensor, "B P"],
        shared: Bool[Tensor, "B P"],
    ) -> Float[Tensor, "B P W"]:
        """The passage in the light of the question."""
        aligned_BPD = self.attention(passage, self.attention.remember(question, real=question_real)).output
        shared_BP1 = shared[..., None].to(passage.dtype)
        together_BPX = torch.cat([passage, aligned_BPD, passage * aligned_BPD, shared_BP1], dim=-1)
        states_BPW, _ = self.second(together_BPX, if_ragged(passage_real))
        return self.dropout(states_BPW)

    def _score(
        self, question: Float[Tensor, "B D"], read: Float[Tensor, "B P W"], real: Bool[Tensor, "B P"]
    ) -> Float[Tensor, "B T 2"]:
        """M W q for either end, after what question and passage as wholes say for no answer at all."""
        asks_BW2 = self.asks(question).unflatten(-1, (-1, 2))
        none_B2 = self.none(torch.cat([question, self.whole(read, real)], dim=-1))
        return torch.cat([none_B2[:, None], read @ asks_BW2], dim=1)

    def loss(self, logits: Float[Tensor, "B T 2"], start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> Loss:
        """Summed over texts, in columns: an answer at the passage's position i is i + 1, none is 0."""
        return Spans.loss(logits, start, end)

    def answers(self, logits: Float[Tensor, "B T 2"], longest: int) -> Answers:
        """The best span of at most `longest` pieces, its score, and the score of "no answer"; in columns."""
        return Spans.answers(logits, longest)


def _shared(
    question: Int[Tensor, "B Q"], real: Bool[Tensor, "B Q"], passage: Int[Tensor, "B P"]
) -> Bool[Tensor, "B P"]:
    """Whether a piece of the passage stands in the question as well."""
    return ((passage[:, :, None] == question[:, None]) & real[:, None]).any(-1)
