"""GPT-2: a decoder by itself, its matrices stored inputs first   (Radford et al. 2019)."""

from pydantic import PositiveFloat, PositiveInt

from regard.config import Rate
from regard.convert.huggingface.architecture import Activation, Architecture, Ends, LanguageConfig, Left, Never, Piece
from regard.convert.huggingface.rules import PACKED, TRANSPOSED, rule
from regard.models import LanguageSettings, TransformerLanguage


class GPT2Config(LanguageConfig):
    """Norms before, learned positions."""

    vocab_size: PositiveInt = 50257
    n_positions: PositiveInt = 1024
    n_embd: PositiveInt = 768
    n_layer: PositiveInt = 12
    n_head: PositiveInt = 12
    n_inner: PositiveInt | None = None
    activation_function: Activation = "gelu_new"
    resid_pdrop: Rate = 0.1
    embd_pdrop: Rate = 0.1
    attn_pdrop: Rate = 0.1
    layer_norm_epsilon: PositiveFloat = 1e-5
    bos_token_id: Piece = 50256
    eos_token_id: Ends = 50256
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: Never = False
    add_cross_attention: Never = False

    def settings(self) -> LanguageSettings:
        return LanguageSettings.read(
            {
                "width": self.n_embd,
                "layers": self.n_layer,
                "attention": {
                    "heads": self.n_head,
                    "score": "scaled_dot" if self.scale_attn_weights else "dot",
                    "dropout": self.attn_pdrop,
                },
                "feedforward": {"hidden": self.n_inner or 4 * self.n_embd, "activation": self.activation_function},
                "norm": {"name": "layer", "epsilon": self.layer_norm_epsilon},
                "place": "pre",
                "dropout": self.resid_pdrop,
                "position": {"name": "learned", "length": self.n_positions},
                "embedding": {"scale": False, "dropout": self.embd_pdrop},
                "tied": self.tie_word_embeddings,
            }
        )


RULES = (
    rule("transformer.wte.weight", "embedding.vectors"),
    rule("transformer.wpe.weight", "embedding.position.table"),
    rule("transformer.h.*.ln_1.*", "decoder.blocks.*.around_attention.norm.*"),
    rule(
        "transformer.h.*.attn.c_attn.*",
        "decoder.blocks.*.attention.query.*",
        "decoder.blocks.*.attention.key.*",
        "decoder.blocks.*.attention.value.*",
        form=PACKED,
    ),
    rule("transformer.h.*.attn.c_proj.*", "decoder.blocks.*.attention.output.*", form=TRANSPOSED),
    rule("transformer.h.*.ln_2.*", "decoder.blocks.*.around_feedforward.norm.*"),
    rule("transformer.h.*.mlp.c_fc.*", "decoder.blocks.*.feedforward.inner.*", form=TRANSPOSED),
    rule("transformer.h.*.mlp.c_proj.*", "decoder.blocks.*.feedforward.outer.*", form=TRANSPOSED),
    rule("transformer.ln_f.*", "decoder.norm.*"),
    rule("lm_head.weight", "output.readout.weight"),
)

# The look-ahead mask, which some files store with every layer.
LEFT = (Left("transformer.h.*.attn.bias"), Left("transformer.h.*.attn.masked_bias"))

GPT2 = Architecture(GPT2Config, TransformerLanguage, "transformer.", RULES, left=LEFT)
