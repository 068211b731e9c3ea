"""Our modules as CTranslate2's layer specs: the same numbers under its names, queries, keys and values side by side."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import MultiHeadAttention
from regard.convert.ctranslate2.positions import fill_distances, fill_stretch
from regard.models.transformer import Stack
from regard.nn.blocks import Block
from regard.nn.embeddings import Embedding, Readout
from regard.nn.feedforward import FeedForward

# As many positions as are written down; whoever asks beyond is refused by CTranslate2 itself.
POSITIONS = 4096


def array(tensor: Tensor) -> Float[np.ndarray, "..."]:
    """The numbers, copied: CTranslate2 quantizes arrays where they lie, and these would be the model's own."""
    return tensor.detach().float().cpu().contiguous().numpy().copy()


def fill_linear(spec: Any, *layers: Any) -> None:
    """One linear layer for several that read the same."""
    spec.weight = array(torch.cat([layer.weight for layer in layers]))
    if layers[0].bias is not None:
        spec.bias = array(torch.cat([layer.bias for layer in layers]))


def fill_norm(spec: Any, norm: Any) -> None:
    spec.gamma = array(norm.weight)
    if hasattr(spec, "beta"):
        bias = getattr(norm, "bias", None)
        spec.beta = array(torch.zeros_like(norm.weight) if bias is None else bias)


def fill_attention(spec: Any, attention: MultiHeadAttention, norm: nn.Module, crossing: bool = False) -> None:
    fill_norm(spec.layer_norm, norm)
    first = 1 if crossing else 0
    if crossing:
        fill_linear(spec.linear[0], attention.query)
        fill_linear(spec.linear[1], attention.key, attention.value)
    else:
        fill_linear(spec.linear[0], attention.query, attention.key, attention.value)
    fill_linear(spec.linear[first + 1], attention.output)
    if attention.mechanism.settings.score.name == "dot":
        spec.queries_scale = np.float32(1.0)
    if attention.query_norm is not None:
        fill_norm(spec.q_norm, attention.query_norm)
        fill_norm(spec.k_norm, attention.key_norm)
    position: Any = attention.mechanism.position
    if hasattr(spec, "relative_position_keys"):
        spec.relative_position_keys = array(position.keys[0])
        spec.relative_position_values = array(position.values[0])
    if hasattr(spec, "rotary_scaling_long_factor"):
        fill_stretch(spec, position.rates)


def fill_feedforward(spec: Any, layer: FeedForward, norm: nn.Module) -> None:
    fill_norm(spec.layer_norm, norm)
    fill_linear(spec.linear_0, layer.inner)
    if layer.gate is not None:
        fill_linear(spec.linear_0_noact, layer.gate)
    fill_linear(spec.linear_1, layer.outer)


def fill_block(spec: Any, block: Block) -> None:
    fill_attention(spec.self_attention, block.attention, block.around_attention.norm)
    if block.cross is not None and block.around_cross is not None:
        fill_attention(spec.attention, block.cross, block.around_cross.norm, crossing=True)
    fill_feedforward(spec.ffn, block.feedforward, block.around_feedforward.norm)


def fill_stack(spec: Any, stack: Stack, embedding: Embedding) -> None:
    """Everything above the table of pieces."""
    for layer, block in zip(spec.layer, stack.each(), strict=True):
        fill_block(layer, block)
        if hasattr(layer.self_attention, "relative_attention_bias"):
            fill_distances(layer.self_attention, block.attention, ahead=not hasattr(spec, "projection"))
    if hasattr(spec, "layer_norm"):
        fill_norm(spec.layer_norm, stack.norm)
    if hasattr(spec, "layernorm_embedding"):
        fill_norm(spec.layernorm_embedding, embedding.norm)
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = array(places(embedding))


def places(embedding: Embedding) -> Float[Tensor, "T D"]:
    """What is added to a vector at each position."""
    position: Any = embedding.position
    width = embedding.vectors.shape[1] if embedding.project is None else embedding.project.out_features
    length = POSITIONS if position.length is None else position.length
    with torch.no_grad():
        return position.embed(torch.zeros(1, length, width), range(length))[0]


def vectors(embedding: Embedding) -> Float[Tensor, "V D"]:
    """The vectors at the model's width."""
    return embedding.vectors if embedding.project is None else embedding.project(embedding.vectors)


def fill_embedding(spec: Any, embedding: Embedding) -> None:
    """The table of pieces, and that of segments where there is one; which is not scaled, so the first one is here."""
    if embedding.segments is None:
        spec.scale_embeddings = embedding.factor != 1.0
        own = spec.embeddings[0] if isinstance(spec.embeddings, list) else spec.embeddings
        own.weight = array(vectors(embedding))
        return
    spec.scale_embeddings = False
    spec.embeddings[0].weight = array(vectors(embedding) * embedding.factor)
    spec.embeddings[1].weight = array(embedding.segments)


def fill_output(spec: Any, readout: Readout) -> None:
    weight = readout.weight if readout.project is None else readout.weight @ readout.project.weight
    spec.weight = array(weight)
    if readout.bias is not None:
        spec.bias = array(readout.bias)
