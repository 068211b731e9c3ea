"""A step of a stack of ordinary blocks with as few calls of torch as possible: what its modules would compute.

A step of one piece is little work, and modules, taps and checks around it cost several times what it does. Here a stack
is taken apart into its parameters; the numbers are those of the modules to the last bit. This is for machines without
a compiler: where there is one, `compiled` does the same and more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import LOOK_AHEAD, Mechanism, Memory, MultiHeadAttention
from regard.attention.normalizers import Softmax
from regard.attention.outputs import Output
from regard.attention.positions import Position, Rates, Rotary
from regard.attention.scopes import Scope
from regard.attention.scores import Product
from regard.nn.blocks import Block, Past, Residual, Scene
from regard.nn.feedforward import FeedForward
from regard.nn.norms import LayerNorm, NoNorm, RMSNorm
from regard.nn.remembered import Remembered

Layer = Callable[[Tensor], Tensor]
Turn = Callable[[Tensor, range], Tensor]
flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu


class Projection(NamedTuple):
    """W x + b."""

    weight: Float[Tensor, "O I"]
    bias: Float[Tensor, " O"] | None

    def __call__(self, x: Float[Tensor, "R I"]) -> Float[Tensor, "R O"]:
        return F.linear(x, self.weight, self.bias)


class Heads(NamedTuple):
    """An attention's projections, how many heads ask and answer, and what their products are multiplied with."""

    query: Projection
    key: Projection
    value: Projection
    output: Projection
    heads: int
    groups: int
    scale: float
    turn: Turn | None
    query_norm: Layer | None = None
    key_norm: Layer | None = None

    def own(self, x: Float[Tensor, "R D"], memory: Memory | None, at: range) -> tuple[Float[Tensor, "R D"], Memory]:
        """What each row finds among its own pieces so far, and these with the new one."""
        rows, query, keys = len(x), self.query(x), self.key(x)
        query_RH1E, keys_RG1E = query.view(rows, self.heads, 1, -1), keys.view(rows, self.groups, 1, -1)
        if self.query_norm is not None and self.key_norm is not None:
            query_RH1E, keys_RG1E = self.query_norm(query_RH1E), self.key_norm(keys_RG1E)
        if self.turn is not None:
            both = self.turn(torch.cat([query_RH1E, keys_RG1E], 1), at)
            query_RH1E, keys_RG1E = both[:, : self.heads], both[:, self.heads :]
        new = Memory(keys_RG1E, self.value(x).view(rows, self.groups, 1, -1), None, at)
        memory = new if memory is None else memory.extend(new)
        found_RH1E = flash(query_RH1E, memory.keys, memory.values, 0.0, False, attn_mask=None, scale=self.scale)[0]
        return self.output(found_RH1E.reshape(rows, -1)), memory

    def across(
        self, x: Float[Tensor, "R D"], source: Memory, bias: Float[Tensor, "B 1 1 S"] | None
    ) -> Float[Tensor, "R D"]:
        """What each row finds in its source; the beams of a source are rows of one query."""
        rows, batch = len(x), len(source.keys)
        query_BNHE = self.query(x).view(batch, rows // batch, self.heads, -1)
        query_BHNE = (query_BNHE if self.query_norm is None else self.query_norm(query_BNHE)).transpose(1, 2)
        found_BHNE = flash(query_BHNE, source.keys, source.values, 0.0, False, attn_mask=bias, scale=self.scale)[0]
        return self.output(found_BHNE.transpose(1, 2).reshape(rows, -1))


class Around(NamedTuple):
    """The residual around a layer."""

    norm: Layer
    before: bool
    alpha: float

    def __call__(self, x: Float[Tensor, "R D"], layer: Layer) -> Float[Tensor, "R D"]:
        if self.before:
            return x + layer(self.norm(x))
        kept = x if self.alpha == 1.0 else x * self.alpha
        return self.norm(kept + layer(x))


class OrdinaryBlock(NamedTuple):
    """A block taken apart."""

    attention: Heads
    around_attention: Around
    cross: Heads | None
    around_cross: Around | None
    feedforward: Layer
    around_feedforward: Around

    def step(
        self, x: Float[Tensor, "R D"], past: Past, at: range, source: Memory | None, bias: Tensor | None
    ) -> tuple[Float[Tensor, "R D"], Past]:
        memory = past.memory

        def own(inner: Tensor) -> Tensor:
            nonlocal memory
            found, memory = self.attention.own(inner, memory, at)
            return found

        x = self.around_attention(x, own)
        if self.cross is not None and self.around_cross is not None and source is not None:
            cross = self.cross
            x = self.around_cross(x, lambda inner: cross.across(inner, source, bias))
        return self.around_feedforward(x, self.feedforward), Past(memory)


@dataclass(frozen=True)
class Growing:
    """Where hypotheses stand: what takes their steps, and what each block keeps of them."""

    plan: "Ordinary"
    kept: tuple[Past, ...]

    def select(self, rows: Int[Tensor, " R"]) -> "Growing":
        return Growing(self.plan, tuple(past.select(rows) for past in self.kept))

    def pasts(self) -> tuple[Past, ...]:
        return self.kept


class Ordinary:
    """A stack taken apart."""

    native = False

    def __init__(self, blocks: list[OrdinaryBlock], norm: Layer) -> None:
        self.blocks, self.norm = blocks, norm

    @classmethod
    def of(cls, blocks: list[Block], norm: nn.Module) -> "Ordinary | None":
        """The stack taken apart, or None where a part of it is out of the ordinary."""
        last, found = _norm(norm), [_block(block) for block in blocks]
        whole = [block for block in found if block is not None]
        return cls(whole, last) if last is not None and len(whole) == len(found) else None

    def run(
        self,
        x: Float[Tensor, "R T D"],
        scene: Scene,
        past: Any = None,
        sources: Remembered | None = None,
    ) -> tuple[Float[Tensor, "R T D"], Growing] | None:
        """The last block's output, normed, and where its texts stand; None for what is not one step of one piece."""
        pasts = past.kept if isinstance(past, Growing) else past
        padded = pasts is not None and pasts[0].memory is not None and pasts[0].memory.real is not None
        jointly = (sources is not None) != (self.blocks[0].cross is not None)
        if x.shape[1] != 1 or scene.mask is not LOOK_AHEAD or not isinstance(scene.at, range) or padded or jointly:
            return None
        memories = None if sources is None else sources.memories
        x_RD, kept, bias = x[:, 0], [], None if memories is None else hidden(memories[0].real, x)
        for layer, block in enumerate(self.blocks):
            before = Past() if pasts is None else pasts[layer]
            x_RD, after = block.step(x_RD, before, scene.at, None if memories is None else memories[layer], bias)
            kept.append(after)
        return self.norm(x_RD)[:, None], Growing(self, tuple(kept))

    def remember(self, states: Sequence[Tensor], real: Tensor | None) -> Remembered | None:
        """Left to the modules: once for a source is not often."""
        return None


def hidden(real: Tensor | None, like: Tensor) -> Float[Tensor, "B 1 1 S"] | None:
    """What is added to scores of a source so that padding gets no weight."""
    if real is None:
        return None
    zero = torch.zeros((), dtype=like.dtype, device=like.device)
    return torch.where(real[:, None, None], zero, -torch.inf)


def _block(block: Block) -> OrdinaryBlock | None:
    attention, around = _heads(block.attention, Position, Rotary), _around(block.around_attention)
    cross = None if block.cross is None else _heads(block.cross, Position)
    around_cross = None if block.around_cross is None else _around(block.around_cross)
    feedforward, outside = _feedforward(block.feedforward), _around(block.around_feedforward)
    if attention is None or around is None or feedforward is None or outside is None:
        return None
    if (cross is None) != (block.cross is None) or (around_cross is None) != (block.around_cross is None):
        return None
    return OrdinaryBlock(attention, around, cross, around_cross, feedforward, outside)


def _heads(module: MultiHeadAttention, *positions: type[Position]) -> Heads | None:
    mechanism = module.mechanism
    score, normalizer = mechanism.score, mechanism.normalizer
    parts = [_projection(each) for each in (module.query, module.key, module.value, module.output)]
    query, key, value, output = parts
    if type(module.answer) is not Output:
        return None
    if query is None or key is None or value is None or output is None or not _usual(mechanism, positions):
        return None
    assert isinstance(score, Product)
    assert isinstance(normalizer, Softmax)
    scale, norms = score.scale * normalizer.fixed, (module.query_norm, module.key_norm)
    return Heads(query, key, value, output, module.heads, module.groups, scale, _turn(mechanism.position), *norms)


def _usual(mechanism: Mechanism, positions: tuple[type[Position], ...]) -> bool:
    """Whether it is a softmax of scaled products over all keys, with positions that at most turn them."""
    score, normalizer = mechanism.score, mechanism.normalizer
    product = isinstance(score, Product) and type(score).ask is Product.ask and type(score).prepare is Product.prepare
    soft = type(normalizer) is Softmax and normalizer.sharpness is None
    plain = type(mechanism.scope) is Scope and type(mechanism.position) in positions
    return product and soft and plain and mechanism.settings.kernel in ("auto", "fused") and not mechanism.explicit


def _projection(module: nn.Module) -> Projection | None:
    return Projection(module.weight, module.bias) if type(module) is nn.Linear else None


def _turn(position: Position) -> Turn | None:
    """What turns queries and keys; with halves it is x (cos, cos) + (second, first) (-sin, sin), in half the calls."""
    if type(position) is not Rotary:
        return None
    width, rates = position.turned, position.rates

    def halves(x_RH1E: Tensor, at: range) -> Tensor:
        if x_RH1E.shape[-1] != width:
            return position.rotate(x_RH1E, at)
        along, across = _waves(at, rates, x_RH1E.dtype)
        return x_RH1E * along + x_RH1E.roll(width // 2, -1) * across

    return halves if position.layout == "halves" else position.rotate


@lru_cache(maxsize=16)
def _waves(at: range, rates: Rates, dtype: torch.dtype) -> tuple[Float[Tensor, " E"], Float[Tensor, " E"]]:
    """(cos, cos) and (-sin, sin), as they come out where (1, 0) is turned."""
    with torch.inference_mode(False), torch.no_grad():
        width, base, stretch = rates
        one = torch.ones(1, 1, 1, width, dtype=dtype)
        one[..., width // 2 :] = 0
        cos, sin = Rotary(width, base=base, layout="halves", stretch=stretch).rotate(one, at).flatten().chunk(2)
        return torch.cat([cos, cos]), torch.cat([-sin, sin])


def _norm(module: nn.Module) -> Layer | None:
    if type(module) is LayerNorm:
        shape, weight, bias, epsilon = module.weight.shape, module.weight, module.bias, module.epsilon
        return lambda x: torch.layer_norm(x, shape, weight, bias, epsilon)
    if type(module) is RMSNorm:
        shape, weight, epsilon = module.weight.shape, module.weight, module.epsilon
        return lambda x: torch.rms_norm(x, shape, weight, epsilon)
    return (lambda x: x) if type(module) is NoNorm else None


def _around(module: Residual) -> Around | None:
    norm = _norm(module.norm)
    return None if norm is None else Around(norm, module.before, module.alpha)


def _feedforward(module: FeedForward) -> Layer | None:
    inner, outer, activation = _projection(module.inner), _projection(module.outer), module.activation
    if inner is None or outer is None:
        return None
    if module.gate is None:
        return lambda x: outer(activation(inner(x)))
    gate = _projection(module.gate)
    return None if gate is None else lambda x: outer(activation(inner(x)) * gate(x))
