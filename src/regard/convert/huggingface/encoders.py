"""What encoders have in common: their classes, and the heads that stand on them."""

from abc import abstractmethod
from typing import Any, Literal

from regard.config import Rate
from regard.convert.huggingface.architecture import Config, Head
from regard.errors import ConfigError
from regard.models import Labels, MaskedPiece, PoolingSettings, Spans, Tags, TransformerEncoder

# The classes of a head where nothing is said of them.
UNNAMED = {0: "LABEL_0", 1: "LABEL_1"}


class EncoderConfig(Config):
    """An encoder; a text has a class, or several where that is its problem."""

    id2label: dict[int, Any] | None = UNNAMED
    problem_type: str | None = None

    @abstractmethod
    def head_dropout(self) -> Rate:
        """What a head drops of the states it reads."""

    def layer(self) -> Literal["tanh", "relu"]:
        """What stands over the first state of a text, before its class is told."""
        return "tanh"

    def vocabulary(self) -> int:
        return self.vocab_size

    def labels(self) -> tuple[str, ...]:
        told = UNNAMED if self.id2label is None else self.id2label
        if sorted(told) != list(range(len(told))):
            raise ConfigError(f"config.json: id2label names the classes {sorted(told)}; number them from 0.")
        return tuple(str(told[number]) for number in range(len(told)))

    def several(self) -> bool:
        return self.problem_type == "multi_label_classification"

    def classifies(self) -> bool:
        """Whether there are classes to tell apart: a single one is a number that is guessed."""
        names = self.labels()
        return len(set(names)) == len(names) > 1 and self.problem_type != "regression"


def masked_piece(config: EncoderConfig, encoder: TransformerEncoder) -> MaskedPiece:
    """The head that guesses hidden pieces."""
    inside = encoder.settings
    return MaskedPiece(encoder.width, encoder.embedding, inside.feedforward.activation, inside.embedding.epsilon)


def tags(config: EncoderConfig, encoder: TransformerEncoder) -> Tags:
    """The head that gives every piece a tag, each by itself."""
    return Tags(encoder.width, len(config.labels()), dropout=config.head_dropout())


def labels(config: EncoderConfig, encoder: TransformerEncoder) -> Labels:
    """The head that says of which class a text is, by its first state and a layer over that."""
    pooling = PoolingSettings(how="first", layer=config.layer())
    return Labels(encoder.width, len(config.labels()), pooling, config.head_dropout())


def spans(config: EncoderConfig, encoder: TransformerEncoder) -> Spans:
    """The head that says where an answer starts and ends."""
    return Spans(encoder.width)


def heads(name: str, masked: str) -> tuple[Head, ...]:
    """The heads of an encoder, and how the names of the first one's parameters begin."""
    return (
        Head(masked, f"{name}ForMaskedLM", masked_piece),
        # Classes of whole texts and tags are told by parameters of the same name.
        Head("classifier.", f"{name}ForTokenClassification", tags, named=True),
        Head("classifier.", f"{name}ForSequenceClassification", labels, named=True, fits=EncoderConfig.classifies),
        Head("qa_outputs.", f"{name}ForQuestionAnswering", spans),
    )
