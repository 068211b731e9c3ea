"""Models of Transformers' own classes at toy size, every parameter random, saved as anyone would save them."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.convert.huggingface import Imported, read

# Nothing here may look for the network; Transformers asks once, when it is imported.
os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")
transformers.utils.logging.disable_progress_bar()

VOCABULARY = 50
SEQUENCE = {
    "vocab_size": VOCABULARY,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 400,
    "pad_token_id": 1,
    "decoder_start_token_id": 3,
    "eos_token_id": 2,
    "forced_eos_token_id": 2,
}
BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
    "type_vocab_size": 3,
}
DISTILBERT = {
    "vocab_size": VOCABULARY,
    "dim": 16,
    "n_layers": 3,
    "n_heads": 4,
    "hidden_dim": 24,
    "max_position_embeddings": 20,
}
GPT2 = {
    "vocab_size": VOCABULARY,
    "n_embd": 16,
    "n_layer": 3,
    "n_head": 4,
    "n_positions": 20,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
LLAMA = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 40,
    "rms_norm_eps": 1e-4,
}
ROPE = {"rope_type": "default", "rope_theta": 500.0}
LINEAR = {"rope_type": "linear", "rope_theta": 500.0, "factor": 3.0}
# Of the two planes of a head, one turns often enough within these positions to be mixed.
STRETCHED = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}


def make(kind: str, **fields: Any) -> Callable[[], Any]:
    """A maker of that class of Transformers', with the config class that belongs to it."""
    model = getattr(transformers, kind)
    return lambda: model(model.config_class(**fields))


ENCODERS = {
    "bert": make("BertModel", **BERT),
    "bert-relu": make("BertModel", **BERT, hidden_act="relu", layer_norm_eps=1e-3),
    "bert-masked": make("BertForMaskedLM", **BERT),
    "bert-pretraining": make("BertForPreTraining", **BERT),
    "bert-classes": make("BertForSequenceClassification", **BERT, num_labels=3),
    "distilbert": make("DistilBertModel", **DISTILBERT),
    "distilbert-masked": make("DistilBertForMaskedLM", **DISTILBERT),
    "distilbert-tags": make("DistilBertForTokenClassification", **DISTILBERT, num_labels=3),
    "distilbert-classes": make("DistilBertForSequenceClassification", **DISTILBERT, num_labels=3, activation="relu"),
    "distilbert-answers": make("DistilBertForQuestionAnswering", **DISTILBERT, sinusoidal_pos_embds=True),
    "roberta": make("RobertaModel", **BERT),
    "roberta-masked": make("RobertaForMaskedLM", **BERT, layer_norm_eps=1e-3),
    "roberta-tags": make("RobertaForTokenClassification", **BERT, num_labels=3),
    "roberta-classes": make("RobertaForSequenceClassification", **BERT, num_labels=3),
    "roberta-answers": make("RobertaForQuestionAnswering", **BERT),
    "xlm-roberta-classes": make("XLMRobertaForSequenceClassification", **BERT, num_labels=3),
}
SEQUENCES = {
    "marian": make("MarianMTModel", **SEQUENCE, activation_function="swish", scale_embedding=True),
    "marian-apart": make("MarianMTModel", **SEQUENCE, decoder_vocab_size=40, share_encoder_decoder_embeddings=False),
    "marian-untied": make(
        "MarianMTModel", **SEQUENCE, share_encoder_decoder_embeddings=False, tie_word_embeddings=False
    ),
    "bart": make("BartForConditionalGeneration", **SEQUENCE),
    "bart-scaled": make("BartForConditionalGeneration", **SEQUENCE, scale_embedding=True, activation_function="relu"),
    "mbart": make("MBartForConditionalGeneration", **SEQUENCE, scale_embedding=True),
}
LANGUAGES = {
    "gpt2": make("GPT2LMHeadModel", **GPT2),
    "gpt2-other": make(
        "GPT2LMHeadModel",
        **GPT2,
        n_inner=20,
        scale_attn_weights=False,
        tie_word_embeddings=False,
        layer_norm_epsilon=0.1,
    ),
    "llama": make("LlamaForCausalLM", **LLAMA, rope_parameters=ROPE),
    "llama-biased": make("LlamaForCausalLM", **LLAMA, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    "llama-wide": make("LlamaForCausalLM", **LLAMA, head_dim=6, rope_parameters=ROPE),
    "llama-linear": make("LlamaForCausalLM", **LLAMA, rope_parameters=LINEAR),
    "llama-stretched": make("LlamaForCausalLM", **LLAMA, rope_parameters=STRETCHED),
    "qwen2": make("Qwen2ForCausalLM", **LLAMA, bos_token_id=0, eos_token_id=2, rope_parameters=ROPE),
    "qwen3": make("Qwen3ForCausalLM", **LLAMA, head_dim=6, bos_token_id=0, eos_token_id=2, rope_parameters=ROPE),
    "qwen3-biased": make("Qwen3ForCausalLM", **LLAMA, head_dim=4, attention_bias=True, bos_token_id=0, eos_token_id=2),
}
TOYS = ENCODERS | SEQUENCES | LANGUAGES


@dataclass(frozen=True)
class Pair:
    """One model twice: Transformers' and ours, read from what Transformers saved."""

    theirs: Any
    ours: Imported
    folder: Path


def saved(name: str, folder: Path) -> Any:
    """Transformers' model, randomized and saved in the folder."""
    torch.manual_seed(sum(map(ord, name)))
    model = TOYS[name]().eval()
    randomize(model)
    model.save_pretrained(folder)
    return model


def pair(name: str, folder: Path) -> Pair:
    theirs = saved(name, folder)
    return Pair(theirs, read(folder), folder)


@torch.no_grad()
def randomize(model: torch.nn.Module) -> None:
    """Nothing stays one or zero: what is left out, or in the wrong place, has to show."""
    for name, parameter in model.named_parameters():
        if "embed_positions" in name and not parameter.requires_grad:
            continue  # Marian's sinusoids are a formula, not parameters.
        parameter.normal_(0.0, 0.25)
        if "norm" in name.lower() or ".ln_" in name:
            parameter.add_(1.0)
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.normal_()


def ragged(*lengths: int, vocabulary: int = VOCABULARY) -> tuple[Tensor, Tensor]:
    """Random pieces, and which of them are real; what stands at padding is random, too.

    None is 0 or 1, by which Transformers knows padding: its embeddings keep gradients from them.
    """
    pieces = torch.randint(2, vocabulary, (len(lengths), max(lengths)))
    return pieces, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
