"""RoBERTa and XLM-RoBERTa: BERT, trained otherwise, whose positions are counted from 2
(Liu et al. 2019; Conneau et al. 2020)."""

from typing import Annotated

from pydantic import Field, PositiveInt

from regard.convert.huggingface.architecture import Architecture, Left, Piece, only
from regard.convert.huggingface.bert import BertConfig, layers
from regard.convert.huggingface.encoders import heads
from regard.convert.huggingface.rules import OFFSET, rule
from regard.models import StackSettings, TransformerEncoder

# The rows of the table that are no positions: padding stands at row 1, and texts begin after it.
BEFORE = 2


class XlmRobertaConfig(BertConfig):
    """BERT's."""

    max_position_embeddings: Annotated[int, Field(gt=BEFORE)] = 512
    pad_token_id: Annotated[int, only(1)] = 1
    eos_token_id: Piece = 2

    def settings(self) -> StackSettings:
        position = {"name": "learned", "length": self.max_position_embeddings - BEFORE}
        return StackSettings.read({**super().settings().plain(), "position": position})


class RobertaConfig(XlmRobertaConfig):
    """The same, with as many pieces as it began with."""

    vocab_size: PositiveInt = 50265


RULES = (
    rule("roberta.embeddings.position_embeddings.weight", "embedding.position.table", form=OFFSET),
    *layers("roberta."),
    rule("lm_head.dense.*", "head.transform.*"),
    rule("lm_head.layer_norm.*", "head.norm.*"),
    rule("lm_head.bias", "head.readout.bias"),
    rule("lm_head.decoder.*", "head.readout.*"),
    rule("classifier.dense.*", "head.pooling.layer.*"),
    rule("classifier.out_proj.*", "head.classify.*"),
    rule("classifier.*", "head.classify.*"),
    rule("qa_outputs.*", "head.classify.*"),
)

# The layer above the first state where no class is told by it, heads that are not read, and what is computed anew.
LEFT = (
    Left("roberta.pooler.dense.*"),
    Left("classifier.*"),
    Left("classifier.*.*"),
    Left("qa_outputs.*"),
    Left("roberta.embeddings.position_ids"),
)

ROBERTA, XLM_ROBERTA = (
    Architecture(config, TransformerEncoder, "roberta.", RULES, LEFT, heads=heads(name, "lm_head."))
    for config, name in ((RobertaConfig, "Roberta"), (XlmRobertaConfig, "XLMRoberta"))
)
