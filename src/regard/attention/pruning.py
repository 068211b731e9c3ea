"""Heads taken out for good: what is left computes what the whole did with those heads silent, and is smaller."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.attention.heads import MultiHeadAttention
from regard.attention.outputs import Attentional
from regard.errors import ConfigError, unknown


def prune(model: nn.Module, kept: Mapping[str, Sequence[int]]) -> None:
    """Leave only these heads of attentions, each named by its place in the model."""
    every = {name: module for name, module in model.named_modules() if isinstance(module, MultiHeadAttention)}
    for name, heads in kept.items():
        if name not in every:
            raise ConfigError(unknown("attention with heads", name, every))
        _check(name, heads, every[name].heads)
        keep(every[name], heads)


@torch.no_grad()
def keep(attention: MultiHeadAttention, heads: Sequence[int]) -> None:
    """Leave only these heads of one attention, in this order.

    Heads that share keys go on sharing where each group loses as many; otherwise each gets keys of its own.
    """
    sizes, device = attention.mechanism.sizes, attention.query.weight.device
    shared, each = sizes.heads // sizes.groups, sizes.query
    kept_H = torch.tensor(list(heads), device=device)
    groups = list(dict.fromkeys(head // shared for head in heads))
    if not _even(heads, shared):
        groups = [head // shared for head in heads]
    kept_G = torch.tensor(groups, device=device)
    for tensor_of, rows in (("query", kept_H), ("key", kept_G), ("value", kept_G)):
        _cut_rows(getattr(attention, tensor_of), _places(rows, each))
    _cut_columns(attention.output, _places(kept_H, each))
    for part in _parts(attention):
        _cut_heads(part, kept_H, sizes.heads)
    attention.heads, attention.groups = len(heads), len(groups)
    attention.mechanism.sizes = replace(sizes, heads=len(heads), groups=len(groups))


def _parts(attention: MultiHeadAttention) -> Iterable[nn.Module]:
    """What has something for each head; where a layer comes after all of them, its rows may be as many by chance."""
    mechanism, answer = attention.mechanism, attention.answer
    parts = mechanism.score, mechanism.scope, mechanism.normalizer, mechanism.position
    return parts if isinstance(answer, Attentional) else (*parts, answer)


def _even(heads: Sequence[int], shared: int) -> bool:
    """Whether each group that is left has as many heads, side by side."""
    groups = [head // shared for head in heads]
    return len(set(Counter(groups).values())) == 1 and groups == sorted(groups)


def _places(blocks: Int[Tensor, " H"], each: int) -> Int[Tensor, " X"]:
    """The rows that blocks of that size take."""
    return (blocks[:, None] * each + torch.arange(each, device=blocks.device)).flatten()


def _cut_rows(layer: nn.Linear, rows: Int[Tensor, " X"]) -> None:
    layer.weight = _like(layer.weight, layer.weight[rows])
    if layer.bias is not None:
        layer.bias = _like(layer.bias, layer.bias[rows])
    layer.out_features = len(rows)


def _cut_columns(layer: nn.Linear, columns: Int[Tensor, " X"]) -> None:
    layer.weight = _like(layer.weight, layer.weight[:, columns])
    layer.in_features = len(columns)


def _cut_heads(part: nn.Module, heads: Int[Tensor, " H"], of: int) -> None:
    """Every learned or fixed tensor of a part has the heads first, or is shared by all."""
    for module in part.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.dim() and parameter.shape[0] == of:
                setattr(module, name, _like(parameter, parameter[heads]))
        for name, buffer in list(module.named_buffers(recurse=False)):
            if buffer.dim() and buffer.shape[0] == of:
                setattr(module, name, buffer[heads])


def _like(old: Tensor, new: Tensor) -> nn.Parameter:
    return nn.Parameter(new.detach().clone(), requires_grad=old.requires_grad)


def _check(name: str, heads: Sequence[int], count: int) -> None:
    if not heads:
        raise ConfigError(f"kept.{name} is empty; an attention keeps at least one head.")
    if len(set(heads)) < len(heads) or not all(0 <= head < count for head in heads):
        raise ConfigError(f"kept.{name} = {list(heads)}: name heads from 0 to {count - 1}, each once.")
