"""A Llama-type model (Llama, Qwen2, Qwen3) from a GGUF file: settings and tokenizer from its metadata, parameters in
single precision."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.convert.gguf import vocabulary as tokenizers
from regard.convert.gguf.file import File, opened
from regard.convert.gguf.metadata import entry, optional
from regard.convert.huggingface import Architecture, Form, Left, Rule, parameters
from regard.convert.huggingface.llama import LlamaConfig, Qwen3Config
from regard.convert.huggingface.rules import SAME, rule
from regard.errors import DataError, ModelError, unknown
from regard.files import shown
from regard.models import LanguageSettings, TransformerLanguage, Vocabulary
from regard.text import ForeignTokenizer

EMBEDDING, OUTPUT, RATES = "token_embd.weight", "output.weight", "rope_freqs.weight"
ARCHITECTURES: dict[str, type[LlamaConfig]] = {"llama": LlamaConfig, "qwen2": LlamaConfig, "qwen3": Qwen3Config}
# Those whose queries and keys llama.cpp stores in an order of its own.
WOVEN = ("llama",)
# What only a model with biases at some of its projections lacks.
ABSENT = "blk.*.attn_output.bias"
# What fills a new parameter with random numbers.
DRAWS = (Tensor.normal_, Tensor.uniform_, nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_)


@dataclass(frozen=True)
class Imported:
    """A model read from a GGUF file, ready to predict; `length` is how much text it was trained to look at."""

    architecture: str
    settings: LanguageSettings
    vocabulary: Vocabulary
    model: nn.Module
    tokenizer: ForeignTokenizer
    template: str | None
    length: int | None


def read(path: Path) -> Imported:
    """The model, tokenizer and chat template in a GGUF file."""
    file = opened(path)
    config = configured(file)
    tokenizer = tokenizers.tokenizer(file, config.vocab_size)
    if tokenizer.size > config.vocab_size:
        raise DataError(f"{shown(path)} has {tokenizer.size} tokens, but vectors for {config.vocab_size} only.")
    return Imported(
        architecture=_kind(file),
        settings=_settings(file, config),
        vocabulary=config.vocabulary(),
        model=_filled(file, config),
        tokenizer=tokenizer,
        template=optional(file, "tokenizer.chat_template", str),
        length=optional(file, f"{_kind(file)}.context_length", int),
    )


def configured(file: File) -> LlamaConfig:
    """The metadata of a Llama under the names of a config.json."""
    _refuse(file)
    kind = _kind(file)
    width, heads = entry(file, f"{kind}.embedding_length", int), entry(file, f"{kind}.attention.head_count", int)
    each = optional(file, f"{kind}.attention.key_length", int) or width // max(heads, 1)
    rotated = optional(file, f"{kind}.rope.dimension_count", int) or each
    values: dict[str, Any] = {
        "vocab_size": file.tensors[EMBEDDING].shape[0],
        "hidden_size": width,
        "intermediate_size": entry(file, f"{kind}.feed_forward_length", int),
        "num_hidden_layers": entry(file, f"{kind}.block_count", int),
        "num_attention_heads": heads,
        "num_key_value_heads": optional(file, f"{kind}.attention.head_count_kv", int) or heads,
        "head_dim": each,
        "rms_norm_eps": entry(file, f"{kind}.attention.layer_norm_rms_epsilon", float),
        "rope_parameters": {
            "rope_theta": optional(file, f"{kind}.rope.freq_base", float) or 10000.0,
            "partial_rotary_factor": rotated / max(each, 1),
            **_scaled(file),
        },
        "bos_token_id": optional(file, "tokenizer.ggml.bos_token_id", int),
        "eos_token_id": entry(file, "tokenizer.ggml.eos_token_id", int),
        "tie_word_embeddings": OUTPUT not in file.tensors,
        "attention_bias": "blk.0.attn_q.bias" in file.tensors,
    }
    _refuse_claims(file, values)
    return ARCHITECTURES[kind].read(values, shown(file.path))


def _kind(file: File) -> str:
    return entry(file, "general.architecture", str)


def _settings(file: File, config: LlamaConfig) -> LanguageSettings:
    """The settings, with the factor of each plane that is turned, where a file has such."""
    settings = config.settings()
    factors = file.tensor(RATES).flatten().tolist() if RATES in file.tensors else []
    if all(factor == 1 for factor in factors):
        return settings
    if not all(0 < factor < math.inf for factor in factors):
        raise DataError(f"{shown(file.path)} is damaged: its {RATES} holds what is no factor.")
    position = settings.position.options
    stretch = {**position.get("stretch", {}), "planes": factors}
    changed = {"name": settings.position.name, **position, "stretch": stretch}
    return LanguageSettings.read({**settings.plain(), "position": changed})


def _scaled(file: File) -> dict[str, Any]:
    """How far all angles are stretched alike."""
    if optional(file, f"{_kind(file)}.rope.scaling.type", str) != "linear":
        return {}
    return {"rope_type": "linear", "factor": entry(file, f"{_kind(file)}.rope.scaling.factor", float)}


def named(config: LlamaConfig, kind: str = WOVEN[0]) -> Architecture:
    """The names of a GGUF file's tensors, and ours for them."""
    groups = config.num_key_value_heads or config.num_attention_heads
    query, key = (_unwoven(heads) if kind in WOVEN else SAME for heads in (config.num_attention_heads, groups))
    rules: tuple[Rule, ...] = (
        rule(EMBEDDING, "embedding.vectors"),
        rule("blk.*.attn_norm.weight", "decoder.blocks.*.around_attention.norm.weight"),
        rule("blk.*.attn_q.*", "decoder.blocks.*.attention.query.*", form=query),
        rule("blk.*.attn_k.*", "decoder.blocks.*.attention.key.*", form=key),
        rule("blk.*.attn_q_norm.*", "decoder.blocks.*.attention.query_norm.*"),
        rule("blk.*.attn_k_norm.*", "decoder.blocks.*.attention.key_norm.*"),
        rule("blk.*.attn_v.*", "decoder.blocks.*.attention.value.*"),
        rule("blk.*.attn_output.*", "decoder.blocks.*.attention.output.*"),
        rule("blk.*.ffn_norm.weight", "decoder.blocks.*.around_feedforward.norm.weight"),
        rule("blk.*.ffn_gate.*", "decoder.blocks.*.feedforward.inner.*"),
        rule("blk.*.ffn_up.*", "decoder.blocks.*.feedforward.gate.*"),
        rule("blk.*.ffn_down.*", "decoder.blocks.*.feedforward.outer.*"),
        rule("output_norm.weight", "decoder.norm.weight"),
        rule(OUTPUT, "output.readout.weight"),
    )
    # Factors of the rates of rotation, which are no parameters here.
    left = (Left(RATES),)
    return Architecture(LlamaConfig, TransformerLanguage, "", rules, left=left, zero=None if kind in WOVEN else ABSENT)


def _refuse(file: File) -> None:
    """A DataError for what is no Llama as we know it."""
    name = _kind(file)
    if name not in ARCHITECTURES:
        raise DataError(f"{shown(file.path)}: {unknown('general.architecture', name, ARCHITECTURES)}")
    if (parts := optional(file, "split.count", int) or 1) > 1:
        raise DataError(f"{shown(file.path)} is one of {parts} parts; join them with llama-gguf-split --merge.")
    if EMBEDDING not in file.tensors:
        raise DataError(f"{shown(file.path)} holds no {EMBEDDING}; name the file of a model, not of an adapter.")
    if optional(file, f"{name}.expert_count", int):
        raise DataError(f"{shown(file.path)} is a mixture of experts, which Regard has no model for.")
    if (scaling := optional(file, f"{name}.rope.scaling.type", str)) not in (None, "none", "linear"):
        raise DataError(
            f"{shown(file.path)}: {name}.rope.scaling.type is {scaling!r}; Regard stretches all angles alike or none."
        )


def _refuse_claims(file: File, values: Mapping[str, Any]) -> None:
    """A DataError for a model that the file cannot hold, before one of that size is built."""
    sides = {side for stored in file.tensors.values() for side in stored.shape}
    for name in ("hidden_size", "intermediate_size"):
        if values[name] not in sides:
            raise DataError(f"{shown(file.path)} is damaged: {name} is {values[name]}, and no tensor has such a side.")
    for name in ("num_attention_heads", "num_key_value_heads"):
        if values[name] * values["head_dim"] not in sides:
            told = f"{values[name]} heads of {values['head_dim']}"
            raise DataError(f"{shown(file.path)} is damaged: {name} is {told}, and no tensor has such a side.")
    if values["num_hidden_layers"] > len(file.tensors):
        raise DataError(f"{shown(file.path)} is damaged: {values['num_hidden_layers']} layers in fewer tensors.")


def _unwoven(heads: int) -> Form:
    """Rows of queries or keys, which llama.cpp stores so that the two of each rotated pair are neighbours.

    With us, as in Transformers, they stand half a head apart.
    """
    return Form(lambda theirs: [_swapped(theirs, heads, -1, 2)], lambda ours: _swapped(ours[0], heads, 2, -1))


def _swapped(rows: Tensor, heads: int, first: int, second: int) -> Tensor:
    return rows.reshape(heads, first, second, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)


def _filled(file: File, config: LlamaConfig) -> nn.Module:
    """The model with the file's parameters, one tensor at a time in memory."""
    architecture = named(config, _kind(file))
    build = partial(TransformerLanguage, _settings(file, config), config.vocabulary())
    # Shapes are compared on a model without memory: what the file claims may be larger than the machine.
    with _Unfilled(), torch.device("meta"):
        _check(file, architecture, dict(build().named_parameters(remove_duplicate=False)))
    with _Unfilled():
        model = build().eval()
    # What the file has none of is a bias that may be missing.
    empty = {id(parameter): parameter for parameter in model.parameters()}
    for name in file.tensors:
        if (found := architecture.rule(name)) is not None:
            parts = found.form.to_ours(torch.from_numpy(file.tensor(name)))
            for place, part in zip(found.into(name), parts, strict=True):
                parameter = model.get_parameter(place)
                parameter.detach().copy_(part)
                empty.pop(id(parameter), None)
    for parameter in empty.values():
        parameter.detach().zero_()
    return model


class _Unfilled(TorchFunctionMode):
    """Inside, no random numbers are drawn for parameters that will all be read from a file."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Sequence[Any] = (), options: Any = None
    ) -> Any:
        options = options or {}
        if function in DRAWS:
            return options.get("tensor", args[0] if args else None)
        return function(*args, **options)


def _check(file: File, architecture: Architecture, ours: Mapping[str, Tensor]) -> None:
    """A ModelError unless every tensor finds its place, and every place its tensor."""
    theirs = {name: torch.empty(stored.shape, device="meta") for name, stored in file.tensors.items()}
    try:
        parameters(architecture, theirs, ours)
    except ModelError as error:
        described = str(error).replace("the model that config.json describes", "the model that its metadata describe")
        raise ModelError(f"{shown(file.path)}: {described}") from None
