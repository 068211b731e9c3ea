"""Writing a model: the tables of names read backwards, so that what imports it brings it back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from regard.convert.huggingface import folder as files
from regard.convert.huggingface.architecture import Architecture
from regard.convert.huggingface.choosing import Choice, Known, choice
from regard.convert.huggingface.importing import ARCHITECTURES
from regard.convert.huggingface.rules import filled, stars
from regard.convert.huggingface.shaping import shaped
from regard.errors import ModelError


def write(model: nn.Module, known: Known, folder: Path) -> Choice:
    """A model as config.json and safetensors, in a folder that is there; what it became."""
    chosen = choice(model, known)
    ours = shaped(model, chosen)
    (folder / files.CONFIG).write_text(json.dumps(chosen.config, indent=2) + "\n", "utf-8")
    stored = {name: tensor.contiguous().clone() for name, tensor in tensors(chosen, ours).items()}
    save_file(stored, folder / files.WHOLE, {"format": "pt"})
    return chosen


def tensors(chosen: Choice, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our parameters under their names; every one of ours finds its place, and every one of theirs is filled."""
    architecture = ARCHITECTURES[chosen.architecture]
    wanted = _wanted(architecture, chosen)
    given = {**ours, **{name: torch.zeros(shape) for name, shape in wanted.items() if _may_be_zero(name, ours)}}
    found: dict[str, Tensor] = {}
    for rule in architecture.rules:
        for steps in (stars(rule.ours[0], name) for name in wanted):
            names = [] if steps is None else [filled(pattern, steps) for pattern in rule.ours]
            if steps is not None and all(name in wanted for name in names):
                found[filled(rule.theirs, steps)] = rule.form.to_theirs([_given(given, name) for name in names])
    _nothing_lost(ours, wanted, chosen)
    # Heads of one form have the same names here.
    own = {head.prefix for head in architecture.heads if head.kind == chosen.kind}
    others = tuple({head.prefix for head in architecture.heads} - own)
    return {name: tensor for name, tensor in _once(found, chosen).items() if not name.startswith(others)}


def _wanted(architecture: Architecture, chosen: Choice) -> dict[str, torch.Size]:
    """The parameters the importer would look for, with their shapes."""
    config: Any = architecture.config.read(chosen.config, files.CONFIG)
    with torch.device("meta"):
        model = architecture.model(config.settings(), config.vocabulary())
        heads = [head.build(config, model) for head in architecture.heads if head.kind == chosen.kind]
    named = dict(model.named_parameters(remove_duplicate=False))
    for head in heads:
        named |= {f"head.{name}": tensor for name, tensor in head.named_parameters(remove_duplicate=False)}
    return {name: tensor.shape for name, tensor in named.items()}


def _may_be_zero(name: str, ours: Mapping[str, Tensor]) -> bool:
    """A bias that we do not have, or kinds of segment."""
    return name not in ours and (name.endswith(".bias") or name == "embedding.segments")


def _given(ours: Mapping[str, Tensor], name: str) -> Tensor:
    tied = {"head.readout.weight": "embedding.vectors"}
    if name not in ours and tied.get(name) not in ours:
        raise ModelError(f"The model has no parameter {name!r}, which its architecture needs.")
    return ours[name] if name in ours else ours[tied[name]]


def _nothing_lost(ours: Mapping[str, Tensor], wanted: Mapping[str, torch.Size], chosen: Choice) -> None:
    left = sorted(set(ours) - set(wanted))
    if left:
        raise ModelError(
            f"The parameter {left[0]!r} has no place in {chosen.kind}; keep the bundle, or export to onnx."
        )


def _once(found: dict[str, Tensor], chosen: Choice) -> dict[str, Tensor]:
    """Without the second names of what Transformers ties by itself."""
    config = chosen.config
    tied = {"lm_head.weight"} if config.get("tie_word_embeddings", chosen.architecture == "bert") else set()
    if tied and config.get("share_encoder_decoder_embeddings", chosen.architecture != "marian"):
        tied |= {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}
    elif "model.shared.weight" in found and chosen.architecture == "marian":
        tied |= {"model.shared.weight"}
    return {name: tensor for name, tensor in found.items() if name not in tied}
