"""What is written for Transformers loads with its stock classes, gives the same logits, and comes back."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.api.exported_transformers import _logits, _their_logits
from regard.convert.huggingface import exporting, read, tokenizing
from regard.convert.huggingface.choosing import Known, choice
from regard.errors import ConfigError
from regard.models import (
    MaskedLanguage,
    MaskedLanguageSettings,
    SpanReader,
    SpanReaderSettings,
    StackSettings,
    Tagger,
    TaggerSettings,
    TransformerEncoder,
)
from regard.models.embedder import Embedder, EmbedderSettings
from tests.engines.toys import SIZE, SMALL, lively, made
from tests.text.corpus import KINDS, LINES, learned

os.environ["HF_HUB_OFFLINE"] = "1"

KNOWN = Known(padding=0, begin=1, end=2, positions=64)
LEARNED = {"name": "learned", "length": 40}
NORMED = {"norm": True}
# The settings, and the class of Transformers' they are.
SEQUENCES: dict[str, tuple[dict[str, Any], str]] = {
    "marian": (SMALL, "MarianMTModel"),
    "marian apart": ({**SMALL, "tied": "output", "output_bias": True}, "MarianMTModel"),
    "marian untied, no bias": (
        {**SMALL, "tied": "none", "attention": {"heads": 4, "bias": False}, "embedding": {"scale": False}},
        "MarianMTModel",
    ),
    "marian in halves": ({**SMALL, "position": {"name": "sinusoidal", "layout": "halves"}}, "MarianMTModel"),
    "bart": ({**SMALL, "position": LEARNED, "embedding": NORMED}, "BartForConditionalGeneration"),
    "bart of sinusoids": ({**SMALL, "embedding": NORMED, "decoder_layers": 1}, "BartForConditionalGeneration"),
    "mbart": ({**SMALL, "place": "pre", "position": LEARNED, "embedding": NORMED}, "MBartForConditionalGeneration"),
    "pegasus": ({**SMALL, "place": "pre"}, "PegasusForConditionalGeneration"),
    "pegasus apart": ({**SMALL, "place": "pre", "tied": "output"}, "PegasusForConditionalGeneration"),
    "blenderbot": ({**SMALL, "place": "pre", "position": LEARNED}, "BlenderbotForConditionalGeneration"),
}
LLAMA = {
    "width": 16,
    "layers": 2,
    "attention": {"heads": 4, "groups": 2, "bias": False},
    "feedforward": {"hidden": 24, "gated": True, "activation": "silu", "bias": False},
    "norm": {"name": "rms", "epsilon": 1e-4},
    "place": "pre",
    "position": {"name": "rotary", "base": 500.0},
}
QWEN3 = {"heads": 4, "groups": 2, "bias": False, "normed": True, "epsilon": 1e-4}
LANGUAGES: dict[str, tuple[dict[str, Any], str]] = {
    "gpt2 of sinusoids": ({**SMALL, "place": "pre"}, "GPT2LMHeadModel"),
    "gpt2": ({**SMALL, "place": "pre", "position": LEARNED, "embedding": {"scale": False}}, "GPT2LMHeadModel"),
    "llama": (LLAMA, "LlamaForCausalLM"),
    "llama in halves": (
        {**LLAMA, "position": {"name": "rotary", "layout": "halves"}, "embedding": {"scale": False}, "tied": False},
        "LlamaForCausalLM",
    ),
    "llama of wider heads": ({**LLAMA, "attention": {"heads": 4, "each": 6, "bias": False}}, "LlamaForCausalLM"),
    "qwen3": ({**LLAMA, "attention": QWEN3}, "Qwen3ForCausalLM"),
    "qwen3 in halves, of its own width": (
        {**LLAMA, "position": {"name": "rotary", "layout": "halves"}, "attention": {**QWEN3, "each": 6, "bias": True}},
        "Qwen3ForCausalLM",
    ),
    "llama, linear": ({**LLAMA, "position": {"name": "rotary", "stretch": {"factor": 3.0}}}, "LlamaForCausalLM"),
    "llama, stretched": (
        {**LLAMA, "position": {"name": "rotary", "base": 500.0, "stretch": {"factor": 8.0, "length": 12}}},
        "LlamaForCausalLM",
    ),
}


def encoder(**changes: Any) -> TransformerEncoder:
    plain = {**SMALL, "position": LEARNED, "embedding": {"norm": True, "scale": False, "segments": 2}, **changes}
    return TransformerEncoder(StackSettings.read(plain), SIZE)


ENCODERS: dict[str, tuple[Any, str]] = {
    "masked": (lambda: MaskedLanguage(encoder(), MaskedLanguageSettings(activation="relu")), "BertForMaskedLM"),
    "tags": (
        lambda: Tagger(encoder(), TaggerSettings(crf=False), 5),
        "BertForTokenClassification",
    ),
    "spans": (
        lambda: SpanReader(encoder(embedding={"norm": True}, position="sinusoidal"), SpanReaderSettings()),
        "BertForQuestionAnswering",
    ),
    "vectors": (lambda: Embedder(encoder(), EmbedderSettings()), "BertModel"),
}

MODELS: dict[str, Any] = {
    **{name: (lambda settings=settings: made("transformer", settings)) for name, (settings, _) in SEQUENCES.items()},
    **{
        name: (lambda settings=settings: made("transformer_language", settings))
        for name, (settings, _) in LANGUAGES.items()
    },
    **{name: (lambda build=build: lively(build())) for name, (build, _) in ENCODERS.items()},
}
CLASSES = {name: kind for table in (SEQUENCES, LANGUAGES, ENCODERS) for name, (_, kind) in table.items()}


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_stock_classes_give_the_same_logits_and_so_does_what_comes_back(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    model = MODELS[name]()
    chosen = exporting.write(model, KNOWN, tmp_path)
    assert chosen.kind == CLASSES[name]
    theirs, report = getattr(transformers, chosen.kind).from_pretrained(tmp_path, output_loading_info=True)
    # Marian leaves its sinusoids out of its own files, and nobody asked for BERT's layer above the first state.
    missing = {key for key in report["missing_keys"] if "embed_positions" not in key and "pooler" not in key}
    assert not missing
    assert not report["unexpected_keys"]
    pieces = torch.randint(4, SIZE, (2, 9))
    expected = _logits(model, pieces)
    torch.testing.assert_close(_their_logits(theirs.eval(), pieces), expected, atol=1e-4, rtol=1e-4)
    again = read(tmp_path)
    if name in ENCODERS:
        states = again.model(pieces)
        torch.testing.assert_close(states, model.encoder(pieces), atol=1e-4, rtol=1e-4)
        assert (again.head is None) == (name == "vectors")
        if again.head is not None:
            torch.testing.assert_close(again.head(states), expected, atol=1e-4, rtol=1e-4)
    else:
        torch.testing.assert_close(_logits(again.model, pieces), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("transformer", {**SMALL, "position": LEARNED}, "none of Marian, BART"),
        ("transformer", {**SMALL, "place": "deepnorm"}, "deepnorm"),
        ("transformer", {**SMALL, "copying": True}, "copying"),
        ("transformer", {**SMALL, "attention": {"heads": 4, "score": "additive"}}, "additive"),
        ("transformer", {**SMALL, "attention": {"heads": 4, "groups": 2}}, "groups = 2"),
        ("transformer", {**SMALL, "feedforward": {"hidden": 8, "gated": True}}, "gated"),
        ("transformer_language", SMALL, "place = post"),
        ("transformer_language", {**LLAMA, "norm": "layer"}, "llama has rms norms"),
        ("recurrent", {"encoder": {"width": 16}, "decoder": {"width": 16}}, "RecurrentSequence"),
    ],
)
def test_what_has_no_stock_class_is_said_in_a_sentence(name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"^Hugging Face has no stock class for .*{said}.*(?<!\.)\. `--to onnx` tells"
    ):
        choice(made(name, settings), KNOWN)


def test_an_encoder_without_a_norm_after_its_embeddings_is_no_bert() -> None:
    reader = TransformerEncoder(StackSettings.read(SMALL), SIZE)
    with pytest.raises(ConfigError, match="after its embeddings"):
        choice(SpanReader(reader, SpanReaderSettings()), KNOWN)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokenizer_of_transformers_cuts_as_ours(kind: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    ours = learned(kind)
    tokenizing.write(ours, tmp_path, 512)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (theirs.pad_token_id, theirs.bos_token_id, theirs.eos_token_id) == (0, 1, 2)
    for line in LINES:
        assert theirs(line)["input_ids"] == [*ours.encode(line).ids, *ours.closing]
        if kind in ("bpe", "byte_bpe", "unigram", "characters"):
            ids = ours.encode(line).ids
            assert theirs.decode(ids, skip_special_tokens=True) == ours.decode(ids)
