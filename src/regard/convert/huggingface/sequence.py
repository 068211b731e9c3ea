"""BART, mBART, Marian, Pegasus and Blenderbot: encoder-decoders of one family, which differ in norms and positions.

(Lewis et al. 2020; Liu et al. 2020; Junczys-Dowmunt et al. 2018; Zhang et al. 2020; Roller et al. 2021)
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import torch
from pydantic import PositiveInt, model_validator
from torch import Tensor

from regard.attention import POSITIONS
from regard.config import Rate, make
from regard.convert.huggingface.architecture import (
    Activation,
    Always,
    Architecture,
    Config,
    Left,
    Never,
    Piece,
    only,
)
from regard.convert.huggingface.rules import OFFSET, ROW, rule
from regard.models import Transformer, TransformerSettings, Vocabulary


class SequenceConfig(Config):
    """An encoder and a decoder of one shape: what all of them have in common."""

    place: ClassVar[str]
    norm: ClassVar[bool]

    d_model: PositiveInt = 1024
    encoder_layers: PositiveInt = 12
    decoder_layers: PositiveInt = 12
    encoder_attention_heads: PositiveInt = 16
    decoder_attention_heads: PositiveInt = 16
    encoder_ffn_dim: PositiveInt = 4096
    decoder_ffn_dim: PositiveInt = 4096
    # Layers left out at random in training: we have no such thing.
    encoder_layerdrop: Annotated[float | None, only(None, 0.0)] = 0.0
    decoder_layerdrop: Annotated[float | None, only(None, 0.0)] = 0.0
    activation_function: Activation = "gelu"
    dropout: Rate = 0.1
    attention_dropout: Rate = 0.0
    activation_dropout: Rate = 0.0
    max_position_embeddings: PositiveInt = 1024
    scale_embedding: bool = False
    is_encoder_decoder: Always = True
    is_decoder: Never = False
    decoder_start_token_id: Piece = None

    @model_validator(mode="after")
    def _same_shape(self) -> Self:
        for what in ("attention_heads", "ffn_dim"):
            one, other = (getattr(self, f"{side}_{what}") for side in ("encoder", "decoder"))
            if one != other:
                raise ValueError(
                    f"encoder_{what} = {one} but decoder_{what} = {other}; Regard's encoder and decoder share one shape"
                )
        return self

    def settings(self) -> TransformerSettings:
        return TransformerSettings.read(
            {
                "width": self.d_model,
                "layers": self.encoder_layers,
                "decoder_layers": self.decoder_layers,
                "attention": {"heads": self.encoder_attention_heads, "dropout": self.attention_dropout},
                "feedforward": {
                    "hidden": self.encoder_ffn_dim,
                    "activation": self.activation_function,
                    "dropout": self.activation_dropout,
                },
                "place": self.place,
                "dropout": self.dropout,
                "position": self.position(),
                "embedding": {"scale": self.scale_embedding, "norm": self.norm, "dropout": self.dropout},
                "tied": self.tied(),
                "output_bias": True,
            }
        )

    def vocabulary(self) -> Vocabulary:
        size = self.target_size()
        begin, end = self.piece("decoder_start_token_id", size), self.piece("eos_token_id", size)
        return Vocabulary(self.vocab_size, size, begin, end)

    def target_size(self) -> int:
        return self.vocab_size

    def position(self) -> Mapping[str, Any]:
        return {"name": "learned", "length": self.max_position_embeddings}

    def tied(self) -> str:
        return "all"


class BartConfig(SequenceConfig):
    """Norms after, and one more after the embeddings."""

    place, norm = "post", True

    vocab_size: PositiveInt = 50265
    eos_token_id: Piece = 2
    decoder_start_token_id: Piece = 2
    tie_word_embeddings: Always = True
    # Of files older than Transformers 4, where one class served several architectures.
    normalize_before: Never = False
    normalize_embedding: Always = True
    add_final_layer_norm: Never = False
    static_position_embeddings: Never = False


class MBartConfig(SequenceConfig):
    """Norms before, one more after the embeddings, and one at the end of each stack."""

    place, norm = "pre", True

    vocab_size: PositiveInt = 50265
    eos_token_id: Piece = 2
    tie_word_embeddings: Always = True
    normalize_before: Always = True
    normalize_embedding: Always = True
    add_final_layer_norm: Always = True
    static_position_embeddings: Never = False


class MarianConfig(SequenceConfig):
    """Norms after, none after the embeddings; sinusoids; one vocabulary for both sides or two."""

    place, norm = "post", False

    vocab_size: PositiveInt = 58101
    decoder_vocab_size: PositiveInt | None = None
    share_encoder_decoder_embeddings: bool = True
    eos_token_id: Piece = 0
    decoder_start_token_id: Piece = 58100
    normalize_before: Never = False
    normalize_embedding: Never = False
    add_final_layer_norm: Never = False
    static_position_embeddings: Always = True

    @model_validator(mode="after")
    def _shared_is_tied(self) -> Self:
        if self.share_encoder_decoder_embeddings and not self.tie_word_embeddings:
            raise ValueError(
                "share_encoder_decoder_embeddings = True but tie_word_embeddings = False; where source and target "
                "share vectors, Regard's output has the same"
            )
        return self

    def target_size(self) -> int:
        return self.decoder_vocab_size or self.vocab_size

    def position(self) -> Mapping[str, Any]:
        return {"name": "sinusoidal", "layout": "halves"}

    def tied(self) -> str:
        if self.share_encoder_decoder_embeddings:
            return "all"
        return "output" if self.tie_word_embeddings else "none"


class PreNormConfig(SequenceConfig):
    """Norms before and one at the end of each stack, none after the embeddings; vectors shared by all or by none."""

    place, norm = "pre", False

    vocab_size: PositiveInt = 50265
    eos_token_id: Piece = 1
    decoder_start_token_id: Piece = 0

    def tied(self) -> str:
        return "all" if self.tie_word_embeddings else "none"


class PegasusConfig(PreNormConfig):
    """With sinusoids   (Zhang et al. 2020)."""

    def position(self) -> Mapping[str, Any]:
        return {"name": "sinusoidal", "layout": "halves"}


class BlenderbotConfig(PreNormConfig):
    """With learned positions   (Roller et al. 2021)."""

    vocab_size: PositiveInt = 8008
    d_model: PositiveInt = 2560
    encoder_layers: PositiveInt = 2
    decoder_layers: PositiveInt = 24
    encoder_attention_heads: PositiveInt = 32
    decoder_attention_heads: PositiveInt = 32
    encoder_ffn_dim: PositiveInt = 10240
    decoder_ffn_dim: PositiveInt = 10240
    max_position_embeddings: PositiveInt = 128
    eos_token_id: Piece = 2
    decoder_start_token_id: Piece = 1


def in_halves(table: Tensor) -> bool:
    """Whether these are the sinusoids that we compute."""
    if table.dim() != 2 or table.shape[1] % 2:
        return False
    waves = make("position", POSITIONS, {"name": "sinusoidal", "layout": "halves"}, table.shape[1])
    return torch.allclose(waves.embed(torch.zeros(1, *table.shape), range(len(table)))[0], table.float(), atol=1e-5)


SHARED_RULES = (
    rule("model.shared.weight", "encoder.embedding.vectors"),
    rule("model.encoder.embed_tokens.weight", "encoder.embedding.vectors"),
    rule("model.decoder.embed_tokens.weight", "embedding.vectors"),
    rule("model.encoder.layers.*.self_attn.q_proj.*", "encoder.stack.blocks.*.attention.query.*"),
    rule("model.encoder.layers.*.self_attn.k_proj.*", "encoder.stack.blocks.*.attention.key.*"),
    rule("model.encoder.layers.*.self_attn.v_proj.*", "encoder.stack.blocks.*.attention.value.*"),
    rule("model.encoder.layers.*.self_attn.out_proj.*", "encoder.stack.blocks.*.attention.output.*"),
    rule("model.encoder.layers.*.self_attn_layer_norm.*", "encoder.stack.blocks.*.around_attention.norm.*"),
    rule("model.encoder.layers.*.fc1.*", "encoder.stack.blocks.*.feedforward.inner.*"),
    rule("model.encoder.layers.*.fc2.*", "encoder.stack.blocks.*.feedforward.outer.*"),
    rule("model.encoder.layers.*.final_layer_norm.*", "encoder.stack.blocks.*.around_feedforward.norm.*"),
    rule("model.decoder.layers.*.self_attn.q_proj.*", "decoder.blocks.*.attention.query.*"),
    rule("model.decoder.layers.*.self_attn.k_proj.*", "decoder.blocks.*.attention.key.*"),
    rule("model.decoder.layers.*.self_attn.v_proj.*", "decoder.blocks.*.attention.value.*"),
    rule("model.decoder.layers.*.self_attn.out_proj.*", "decoder.blocks.*.attention.output.*"),
    rule("model.decoder.layers.*.self_attn_layer_norm.*", "decoder.blocks.*.around_attention.norm.*"),
    rule("model.decoder.layers.*.encoder_attn.q_proj.*", "decoder.blocks.*.cross.query.*"),
    rule("model.decoder.layers.*.encoder_attn.k_proj.*", "decoder.blocks.*.cross.key.*"),
    rule("model.decoder.layers.*.encoder_attn.v_proj.*", "decoder.blocks.*.cross.value.*"),
    rule("model.decoder.layers.*.encoder_attn.out_proj.*", "decoder.blocks.*.cross.output.*"),
    rule("model.decoder.layers.*.encoder_attn_layer_norm.*", "decoder.blocks.*.around_cross.norm.*"),
    rule("model.decoder.layers.*.fc1.*", "decoder.blocks.*.feedforward.inner.*"),
    rule("model.decoder.layers.*.fc2.*", "decoder.blocks.*.feedforward.outer.*"),
    rule("model.decoder.layers.*.final_layer_norm.*", "decoder.blocks.*.around_feedforward.norm.*"),
    rule("lm_head.weight", "output.readout.weight"),
    rule("final_logits_bias", "output.readout.bias", form=ROW),
)

BART_RULES = (
    *SHARED_RULES,
    rule("model.encoder.embed_positions.weight", "encoder.embedding.position.table", form=OFFSET),
    rule("model.decoder.embed_positions.weight", "embedding.position.table", form=OFFSET),
    rule("model.encoder.layernorm_embedding.*", "encoder.embedding.norm.*"),
    rule("model.decoder.layernorm_embedding.*", "embedding.norm.*"),
)

MBART_RULES = (
    *BART_RULES,
    rule("model.encoder.layer_norm.*", "encoder.stack.norm.*"),
    rule("model.decoder.layer_norm.*", "decoder.norm.*"),
)

PEGASUS_RULES = (
    *SHARED_RULES,
    rule("model.encoder.layer_norm.*", "encoder.stack.norm.*"),
    rule("model.decoder.layer_norm.*", "decoder.norm.*"),
)

BLENDERBOT_RULES = (
    *PEGASUS_RULES,
    rule("model.encoder.embed_positions.weight", "encoder.embedding.position.table"),
    rule("model.decoder.embed_positions.weight", "embedding.position.table"),
)

MARIAN_LEFT = (Left("model.*.embed_positions.weight", in_halves),)
BIAS = "final_logits_bias"

BART = Architecture(BartConfig, Transformer, "model.", BART_RULES, zero=BIAS)
MBART = Architecture(MBartConfig, Transformer, "model.", MBART_RULES, zero=BIAS)
MARIAN = Architecture(MarianConfig, Transformer, "model.", SHARED_RULES, left=MARIAN_LEFT, zero=BIAS)
PEGASUS = Architecture(PegasusConfig, Transformer, "model.", PEGASUS_RULES, left=MARIAN_LEFT, zero=BIAS)
BLENDERBOT = Architecture(BlenderbotConfig, Transformer, "model.", BLENDERBOT_RULES, zero=BIAS)
