"""DistilBERT: BERT with half of its layers and no kinds of segment   (Sanh et al. 2019)."""

from typing import Literal

from pydantic import PositiveInt

from regard.config import Rate
from regard.convert.huggingface.architecture import Activation, Always, Architecture, Left
from regard.convert.huggingface.encoders import EncoderConfig, heads
from regard.convert.huggingface.rules import rule
from regard.models import StackSettings, TransformerEncoder

EPSILON = 1e-12


class DistilBertConfig(EncoderConfig):
    """Norms after; sinusoids, where positions began as such, are stored like learned ones."""

    vocab_size: PositiveInt = 30522
    max_position_embeddings: PositiveInt = 512
    n_layers: PositiveInt = 6
    n_heads: PositiveInt = 12
    dim: PositiveInt = 768
    hidden_dim: PositiveInt = 3072
    dropout: Rate = 0.1
    attention_dropout: Rate = 0.1
    seq_classif_dropout: Rate = 0.2
    activation: Activation = "gelu"
    tie_word_embeddings: Always = True

    def settings(self) -> StackSettings:
        return StackSettings.read(
            {
                "width": self.dim,
                "layers": self.n_layers,
                "attention": {"heads": self.n_heads, "dropout": self.attention_dropout},
                "feedforward": {"hidden": self.hidden_dim, "activation": self.activation},
                "norm": {"name": "layer", "epsilon": EPSILON},
                "dropout": self.dropout,
                "position": {"name": "learned", "length": self.max_position_embeddings},
                "embedding": {"scale": False, "norm": True, "epsilon": EPSILON, "dropout": self.dropout},
            }
        )

    def head_dropout(self) -> float:
        """Tags are dropped like all else, classes by a rate of their own."""
        tags = any(name.endswith("ForTokenClassification") for name in self.architectures or ())
        return self.dropout if tags else self.seq_classif_dropout

    def layer(self) -> Literal["tanh", "relu"]:
        return "relu"


RULES = (
    rule("distilbert.embeddings.word_embeddings.weight", "embedding.vectors"),
    rule("distilbert.embeddings.position_embeddings.weight", "embedding.position.table"),
    rule("distilbert.embeddings.LayerNorm.*", "embedding.norm.*"),
    rule("distilbert.transformer.layer.*.attention.q_lin.*", "stack.blocks.*.attention.query.*"),
    rule("distilbert.transformer.layer.*.attention.k_lin.*", "stack.blocks.*.attention.key.*"),
    rule("distilbert.transformer.layer.*.attention.v_lin.*", "stack.blocks.*.attention.value.*"),
    rule("distilbert.transformer.layer.*.attention.out_lin.*", "stack.blocks.*.attention.output.*"),
    rule("distilbert.transformer.layer.*.sa_layer_norm.*", "stack.blocks.*.around_attention.norm.*"),
    rule("distilbert.transformer.layer.*.ffn.lin1.*", "stack.blocks.*.feedforward.inner.*"),
    rule("distilbert.transformer.layer.*.ffn.lin2.*", "stack.blocks.*.feedforward.outer.*"),
    rule("distilbert.transformer.layer.*.output_layer_norm.*", "stack.blocks.*.around_feedforward.norm.*"),
    rule("vocab_transform.*", "head.transform.*"),
    rule("vocab_layer_norm.*", "head.norm.*"),
    rule("vocab_projector.*", "head.readout.*"),
    rule("pre_classifier.*", "head.pooling.layer.*"),
    rule("classifier.*", "head.classify.*"),
    rule("qa_outputs.*", "head.classify.*"),
)

# Heads that are not read.
LEFT = (
    Left("pre_classifier.*"),
    Left("classifier.*"),
    Left("qa_outputs.*"),
    Left("distilbert.embeddings.position_ids"),
)

DISTILBERT = Architecture(
    DistilBertConfig, TransformerEncoder, "distilbert.", RULES, LEFT, heads=heads("DistilBert", "vocab_transform.")
)
