"""BERT: an encoder, with the head it was pretrained with where a file holds one   (Devlin et al. 2019)."""

from typing import Annotated

from pydantic import PositiveFloat, PositiveInt

from regard.config import Rate
from regard.convert.huggingface.architecture import Activation, Always, Architecture, Left, Never, only
from regard.convert.huggingface.encoders import EncoderConfig, heads
from regard.convert.huggingface.rules import Rule, rule
from regard.models import StackSettings, TransformerEncoder


class BertConfig(EncoderConfig):
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

    def head_dropout(self) -> float:
        return self.hidden_dropout_prob if self.classifier_dropout is None else self.classifier_dropout


def layers(prefix: str) -> tuple[Rule, ...]:
    """The names of the encoder itself, below a prefix; positions are for each architecture to say."""
    return (
        rule(f"{prefix}embeddings.word_embeddings.weight", "embedding.vectors"),
        rule(f"{prefix}embeddings.token_type_embeddings.weight", "embedding.segments"),
        rule(f"{prefix}embeddings.LayerNorm.*", "embedding.norm.*"),
        rule(f"{prefix}encoder.layer.*.attention.self.query.*", "stack.blocks.*.attention.query.*"),
        rule(f"{prefix}encoder.layer.*.attention.self.key.*", "stack.blocks.*.attention.key.*"),
        rule(f"{prefix}encoder.layer.*.attention.self.value.*", "stack.blocks.*.attention.value.*"),
        rule(f"{prefix}encoder.layer.*.attention.output.dense.*", "stack.blocks.*.attention.output.*"),
        rule(f"{prefix}encoder.layer.*.attention.output.LayerNorm.*", "stack.blocks.*.around_attention.norm.*"),
        rule(f"{prefix}encoder.layer.*.intermediate.dense.*", "stack.blocks.*.feedforward.inner.*"),
        rule(f"{prefix}encoder.layer.*.output.dense.*", "stack.blocks.*.feedforward.outer.*"),
        rule(f"{prefix}encoder.layer.*.output.LayerNorm.*", "stack.blocks.*.around_feedforward.norm.*"),
    )


RULES = (
    rule("bert.embeddings.position_embeddings.weight", "embedding.position.table"),
    *layers("bert."),
    rule("cls.predictions.transform.dense.*", "head.transform.*"),
    rule("cls.predictions.transform.LayerNorm.*", "head.norm.*"),
    rule("cls.predictions.bias", "head.readout.bias"),
    rule("cls.predictions.decoder.*", "head.readout.*"),
    rule("bert.pooler.dense.*", "head.pooling.layer.*"),
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

BERT = Architecture(BertConfig, TransformerEncoder, "bert.", RULES, LEFT, heads=heads("Bert", "cls.predictions."))
