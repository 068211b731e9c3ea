"""BERT: an encoder, with the head it was pretrained with where a file holds one   (Devlin et al. 2019)."""

from typing import Annotated, Any

from pydantic import PositiveFloat, PositiveInt

from regard.config import Rate
from regard.convert.huggingface.architecture import (
    Activation,
    Always,
    Architecture,
    Config,
    Head,
    Left,
    Never,
    only,
)
from regard.convert.huggingface.rules import rule
from regard.errors import ConfigError
from regard.models import MaskedPiece, Spans, StackSettings, Tags, TransformerEncoder

# The classes of a head where nothing is said of them.
UNNAMED = {0: "LABEL_0", 1: "LABEL_1"}


class BertConfig(Config):
    """An encoder, norms after, learned positions, kinds of segment."""

    vocab_size: PositiveInt = 30522
    hidden_size: PositiveInt = 768
    num_hidden_layers: PositiveInt = 12
    num_attention_heads: PositiveInt = 12
    intermediate_size: PositiveInt = 3072
    hidden_act: Activation = "gelu"
    hidden_dropout_prob: Rate = 0.1
    attention_probs_dropout_prob: Rate = 0.1
    max_position_embeddings: PositiveInt = 512
    type_vocab_size: PositiveInt = 2
    id2label: dict[int, Any] | None = UNNAMED
    classifier_dropout: Rate | None = None
    layer_norm_eps: PositiveFloat = 1e-12
    position_embedding_type: Annotated[str, only("absolute")] = "absolute"
    tie_word_embeddings: Always = True
    is_decoder: Never = False
    add_cross_attention: Never = False

    def settings(self) -> StackSettings:
        return StackSettings.read(
            {
                "width": self.hidden_size,
                "layers": self.num_hidden_layers,
                "attention": {"heads": self.num_attention_heads, "dropout": self.attention_probs_dropout_prob},
                "feedforward": {"hidden": self.intermediate_size, "activation": self.hidden_act},
                "norm": {"name": "layer", "epsilon": self.layer_norm_eps},
                "dropout": self.hidden_dropout_prob,
                "position": {"name": "learned", "length": self.max_position_embeddings},
                "embedding": {
                    "scale": False,
                    "norm": True,
                    "epsilon": self.layer_norm_eps,
                    "segments": self.type_vocab_size,
                    "dropout": self.hidden_dropout_prob,
                },
            }
        )

    def vocabulary(self) -> int:
        return self.vocab_size

    def labels(self) -> tuple[str, ...]:
        told = UNNAMED if self.id2label is None else self.id2label
        if sorted(told) != list(range(len(told))):
            raise ConfigError(f"config.json: id2label names the classes {sorted(told)}; number them from 0.")
        return tuple(str(told[number]) for number in range(len(told)))


def masked_piece(config: BertConfig, encoder: TransformerEncoder) -> MaskedPiece:
    """The head that guesses hidden pieces."""
    return MaskedPiece(config.hidden_size, encoder.embedding, config.hidden_act, config.layer_norm_eps)


def tags(config: BertConfig, encoder: TransformerEncoder) -> Tags:
    """The head that gives every piece a tag, each by itself."""
    told = config.classifier_dropout
    return Tags(config.hidden_size, len(config.labels()), dropout=config.hidden_dropout_prob if told is None else told)


def spans(config: BertConfig, encoder: TransformerEncoder) -> Spans:
    """The head that says where an answer starts and ends."""
    return Spans(config.hidden_size)


RULES = (
    rule("bert.embeddings.word_embeddings.weight", "embedding.vectors"),
    rule("bert.embeddings.position_embeddings.weight", "embedding.position.table"),
    rule("bert.embeddings.token_type_embeddings.weight", "embedding.segments"),
    rule("bert.embeddings.LayerNorm.*", "embedding.norm.*"),
    rule("bert.encoder.layer.*.attention.self.query.*", "stack.blocks.*.attention.query.*"),
    rule("bert.encoder.layer.*.attention.self.key.*", "stack.blocks.*.attention.key.*"),
    rule("bert.encoder.layer.*.attention.self.value.*", "stack.blocks.*.attention.value.*"),
    rule("bert.encoder.layer.*.attention.output.dense.*", "stack.blocks.*.attention.output.*"),
    rule("bert.encoder.layer.*.attention.output.LayerNorm.*", "stack.blocks.*.around_attention.norm.*"),
    rule("bert.encoder.layer.*.intermediate.dense.*", "stack.blocks.*.feedforward.inner.*"),
    rule("bert.encoder.layer.*.output.dense.*", "stack.blocks.*.feedforward.outer.*"),
    rule("bert.encoder.layer.*.output.LayerNorm.*", "stack.blocks.*.around_feedforward.norm.*"),
    rule("cls.predictions.transform.dense.*", "head.transform.*"),
    rule("cls.predictions.transform.LayerNorm.*", "head.norm.*"),
    rule("cls.predictions.bias", "head.readout.bias"),
    rule("cls.predictions.decoder.*", "head.readout.*"),
    rule("classifier.*", "head.classify.*"),
    rule("qa_outputs.*", "head.classify.*"),
)

# The layer above the first state, heads that are not read, and a buffer that Transformers itself computes anew.
LEFT = (
    Left("bert.pooler.dense.*"),
    Left("cls.seq_relationship.*"),
    Left("classifier.*"),
    Left("qa_outputs.*"),
    Left("bert.embeddings.position_ids"),
)

HEADS = (
    Head("cls.predictions.", "BertForMaskedLM", masked_piece),
    # Classes of whole texts and of pairs are told by parameters of the same name.
    Head("classifier.", "BertForTokenClassification", tags, named=True),
    Head("qa_outputs.", "BertForQuestionAnswering", spans),
)

BERT = Architecture(BertConfig, TransformerEncoder, "bert.", RULES, LEFT, heads=HEADS)
