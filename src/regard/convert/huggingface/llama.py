"""Llama: a decoder by itself, with rotary positions, grouped queries, RMS norms and a gate   (Touvron et al. 2023).

Qwen2 is one, but for a few biases; Qwen3 one whose queries and keys are normed."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import PositiveFloat, PositiveInt, model_validator

from regard.attention.positions import Stretch
from regard.config import Rate, Settings
from regard.convert.huggingface.architecture import (
    Activation,
    Always,
    Architecture,
    Ends,
    LanguageConfig,
    Left,
    Never,
    Piece,
    only,
)
from regard.convert.huggingface.rules import rule
from regard.models import LanguageSettings, TransformerLanguage


class Rope(Settings):
    """How a Llama turns its queries and keys, and what stretches the angles; ways not named here are refused."""

    rope_type: Annotated[str, only("default", "linear", "llama3")] = "default"
    rope_theta: PositiveFloat | None = None
    partial_rotary_factor: Annotated[float, only(1.0)] = 1.0
    factor: PositiveFloat = 1.0
    low_freq_factor: PositiveFloat = 1.0
    high_freq_factor: PositiveFloat = 4.0
    original_max_position_embeddings: PositiveInt | None = None

    @model_validator(mode="before")
    @classmethod
    def _under_its_old_name(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "type" not in values:
            return values
        return {"rope_type": values["type"], **{name: value for name, value in values.items() if name != "type"}}

    @model_validator(mode="after")
    def _says_how_far(self) -> Self:
        if self.rope_type == "llama3" and self.original_max_position_embeddings is None:
            raise ValueError("rope_type = llama3 needs original_max_position_embeddings, how far it read before")
        if self.rope_type == "default" and self.factor != 1.0:
            raise ValueError(f"factor = {self.factor} without a rope_type that says how angles are stretched by it")
        return self

    def stretch(self) -> Stretch | None:
        if self.rope_type == "default":
            return None
        if self.rope_type == "linear":
            return Stretch(factor=self.factor)
        length, slow, fast = self.original_max_position_embeddings or 0, self.low_freq_factor, self.high_freq_factor
        return Stretch(factor=self.factor, length=length, slow=slow, fast=fast)


class LlamaConfig(LanguageConfig):
    """RMS norms before, rotary positions in halves, grouped queries, a gate, hardly any biases."""

    vocab_size: PositiveInt = 32000
    hidden_size: PositiveInt = 4096
    intermediate_size: PositiveInt = 11008
    num_hidden_layers: PositiveInt = 32
    num_attention_heads: PositiveInt = 32
    num_key_value_heads: PositiveInt | None = None
    head_dim: PositiveInt | None = None
    hidden_act: Activation = "silu"
    rms_norm_eps: PositiveFloat = 1e-6
    bos_token_id: Piece = 1
    eos_token_id: Ends = 2
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    attention_dropout: Rate = 0.0
    rope_parameters: Rope | None = None
    # Where files of Transformers 4 and before have what now stands in rope_parameters.
    rope_theta: PositiveFloat = 10000.0
    rope_scaling: Rope | None = None

    normed: ClassVar = False

    def settings(self) -> LanguageSettings:
        rope = self.rope_parameters or self.rope_scaling or Rope()
        turns, stretch = rope.rope_theta or self.rope_theta, rope.stretch()
        position = {"name": "rotary", "layout": "halves", "base": turns}
        whole = self.head_dim is None or self.head_dim * self.num_attention_heads == self.hidden_size
        return LanguageSettings.read(
            {
                "width": self.hidden_size,
                "layers": self.num_hidden_layers,
                "attention": {
                    "heads": self.num_attention_heads,
                    "groups": self.num_key_value_heads,
                    "each": None if whole else self.head_dim,
                    **({"normed": True, "epsilon": self.rms_norm_eps} if self.normed else {}),
                    "bias": self.attention_bias,
                    "dropout": self.attention_dropout,
                },
                "feedforward": {
                    "hidden": self.intermediate_size,
                    "activation": self.hidden_act,
                    "gated": True,
                    "bias": self.mlp_bias,
                },
                "norm": {"name": "rms", "epsilon": self.rms_norm_eps},
                "place": "pre",
                "dropout": 0.0,
                "position": position | ({} if stretch is None else {"stretch": stretch.plain()}),
                "embedding": {"scale": False, "dropout": 0.0},
                "tied": self.tie_word_embeddings,
            }
        )


RULES = (
    rule("model.embed_tokens.weight", "embedding.vectors"),
    rule("model.layers.*.input_layernorm.weight", "decoder.blocks.*.around_attention.norm.weight"),
    rule("model.layers.*.self_attn.q_proj.*", "decoder.blocks.*.attention.query.*"),
    rule("model.layers.*.self_attn.k_proj.*", "decoder.blocks.*.attention.key.*"),
    rule("model.layers.*.self_attn.v_proj.*", "decoder.blocks.*.attention.value.*"),
    rule("model.layers.*.self_attn.o_proj.*", "decoder.blocks.*.attention.output.*"),
    rule("model.layers.*.post_attention_layernorm.weight", "decoder.blocks.*.around_feedforward.norm.weight"),
    # Theirs is named after what it does to the other; ours is the one with the activation, which the other gates.
    rule("model.layers.*.mlp.gate_proj.*", "decoder.blocks.*.feedforward.inner.*"),
    rule("model.layers.*.mlp.up_proj.*", "decoder.blocks.*.feedforward.gate.*"),
    rule("model.layers.*.mlp.down_proj.*", "decoder.blocks.*.feedforward.outer.*"),
    rule("model.norm.weight", "decoder.norm.weight"),
    rule("lm_head.weight", "output.readout.weight"),
)

# The rates of rotation, which some files store though they follow from the config.
LEFT = (Left("model.layers.*.self_attn.rotary_emb.inv_freq"), Left("model.rotary_emb.inv_freq"))

LLAMA = Architecture(LlamaConfig, TransformerLanguage, "model.", RULES, left=LEFT)


class Qwen2Config(LlamaConfig):
    """A Llama whose queries, keys and values have biases   (Yang et al. 2024)."""

    vocab_size: PositiveInt = 151936
    intermediate_size: PositiveInt = 22016
    bos_token_id: Piece = None
    eos_token_id: Ends = None
    attention_bias: Always = True
    use_sliding_window: Never = False


# Ours has a bias at the output as well.
QWEN2 = Architecture(
    Qwen2Config, TransformerLanguage, "model.", RULES, left=LEFT, zero="model.layers.*.self_attn.o_proj.bias"
)


class Qwen3Config(LlamaConfig):
    """A Llama whose queries and keys are normed, in heads of a width of their own   (Yang et al. 2025)."""

    vocab_size: PositiveInt = 151936
    intermediate_size: PositiveInt = 22016
    num_key_value_heads: PositiveInt | None = 32
    head_dim: PositiveInt | None = 128
    bos_token_id: Piece = None
    eos_token_id: Ends = None
    mlp_bias: Never = False
    use_sliding_window: Never = False

    normed: ClassVar = True


QWEN3 = Architecture(
    Qwen3Config,
    TransformerLanguage,
    "model.",
    (
        *RULES,
        rule("model.layers.*.self_attn.q_norm.weight", "decoder.blocks.*.attention.query_norm.weight"),
        rule("model.layers.*.self_attn.k_norm.weight", "decoder.blocks.*.attention.key_norm.weight"),
    ),
    left=LEFT,
)
