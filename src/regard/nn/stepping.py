"""One step of a stack of ordinary blocks: what its modules would compute, with nothing in between.

A step of one piece is little work, and modules, taps and checks around it cost several times what it does. `ordinary`
takes a stack apart into its parameters; `step` computes the same on them, so that the numbers are the same to the last
bit. Where a part is out of the ordinary, or somebody watches, the modules do it.

The library's product of a matrix with a single row runs on one thread, whatever there are, and that is what one stream
of text waits for. `shared_out` lets all threads have a part of the matrix; whoever steps inside a `Sharing` is given
such products, modules too, so that there is one answer whoever computes it.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from regard.attention import Mechanism, Memory, MultiHeadAttention, watched
from regard.attention.normalizers import Softmax
from regard.attention.outputs import Output
from regard.attention.positions import Position, Rotary
from regard.attention.scopes import Scope
from regard.attention.scores import Product
from regard.nn.blocks import Block, Past, Residual
from regard.nn.feedforward import FeedForward
from regard.nn.norms import LayerNorm, NoNorm, RMSNorm

Layer = Callable[[Tensor], Tensor]
Turn = Callable[[Tensor, range], Tensor]
# A smaller matrix is not worth waiting for another thread, which on a busy machine may take its time.
WORTH_SHARING = 1 << 19
flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu


class Projection(NamedTuple):
    """W x + b; of a single row by so many threads."""

    weight: Float[Tensor, "O I"]
    bias: Float[Tensor, " O"] | None
    threads: int = 1

    def __call__(self, x: Float[Tensor, "R I"]) -> Float[Tensor, "R O"]:
        if self.threads > 1 and len(x) == 1:
            return shared_out(x, self.weight, self.bias, self.threads)
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

    def own(self, x: Float[Tensor, "R D"], memory: Memory | None, at: range) -> tuple[Float[Tensor, "R D"], Memory]:
        """What each row finds among its own pieces so far, and these with the new one."""
        rows, query, keys = len(x), self.query(x), self.key(x)
        query_RH1E, keys_RG1E = query.view(rows, self.heads, 1, -1), keys.view(rows, self.groups, 1, -1)
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
        query_BHNE = self.query(x).view(batch, rows // batch, self.heads, -1).transpose(1, 2)
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


class Ordinary:
    """A stack taken apart; shared by all that is generated, whatever rows are selected."""

    def __init__(self, blocks: list[OrdinaryBlock], norm: Layer) -> None:
        self.blocks, self.norm = blocks, norm

    def select(self, rows: Int[Tensor, " R"]) -> "Ordinary":
        return self

    def step(
        self,
        x: Float[Tensor, "R D"],
        at: range,
        pasts: tuple[Past, ...] | None,
        sources: tuple[Memory, ...] | None = None,
        bias: Float[Tensor, "B 1 1 S"] | None = None,
    ) -> tuple[Float[Tensor, "R D"], tuple[Past, ...]]:
        """The last block's output, normed, and what each block keeps for the next step."""
        kept = []
        for layer, block in enumerate(self.blocks):
            past = Past() if pasts is None else pasts[layer]
            x, after = block.step(x, past, at, None if sources is None else sources[layer], bias)
            kept.append(after)
        return self.norm(x), tuple(kept)


def fits(pasts: tuple[Past, ...] | None) -> bool:
    """Whether a step can go on from here without modules: nobody watches, and nothing kept is padded."""
    plain = pasts is None or pasts[0].memory is None or pasts[0].memory.real is None
    return plain and not watched() and not torch.is_grad_enabled()


def ordinary(blocks: list[Block], norm: nn.Module, sharing: bool = False) -> Ordinary | None:
    """The stack taken apart, or None where a part of it is out of the ordinary.

    With `sharing` single rows are shared out: for whoever lets modules step inside a `Sharing` too.
    """
    if torch.is_grad_enabled() or any(map(_altered, (norm, *blocks))):
        return None
    last, found = _norm(norm), [_block(block, sharing) for block in blocks]
    whole = [block for block in found if block is not None]
    return Ordinary(whole, last) if last is not None and len(whole) == len(found) else None


def hidden(real: Tensor | None, like: Tensor) -> Float[Tensor, "B 1 1 S"] | None:
    """What is added to scores of a source so that padding gets no weight."""
    if real is None:
        return None
    zero = torch.zeros((), dtype=like.dtype, device=like.device)
    return torch.where(real[:, None, None], zero, -torch.inf)


class Sharing(TorchFunctionMode):
    """Inside it, products of a single row are shared out among threads."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is F.linear and len(args) == 3 and (threads := threads_for(args[1])) > 1:
            x, weight, bias = args
            if x.numel() == weight.shape[1] and not torch.is_grad_enabled():
                return shared_out(x, weight, bias, threads).view(*x.shape[:-1], -1)
        return func(*args, **(kwargs or {}))


def shared_out(
    x: Float[Tensor, "*R I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None, threads: int
) -> Float[Tensor, "1 O"]:
    """W x + b, each thread with as many rows of W."""
    inner = weight.shape[1]
    # The vector first: the other way round the library takes four times as long.
    found_T1P = torch.bmm(x.reshape(1, 1, inner).expand(threads, 1, inner), weight.view(threads, -1, inner).mT)
    return found_T1P.view(1, -1) if bias is None else found_T1P.view(1, -1) + bias


def threads_for(weight: Tensor) -> int:
    """How many threads share its rows evenly."""
    worth = weight.numel() >= WORTH_SHARING and weight.dtype == torch.float32 and weight.is_contiguous()
    most = torch.get_num_threads() if worth and weight.device.type == "cpu" else 1
    return next(count for count in range(most, 0, -1) if len(weight) % count == 0)


def _altered(module: nn.Module) -> bool:
    """Whether it learns, stands elsewhere than on the processor, or somebody has hooked into it."""
    parameters = any(each.device.type != "cpu" for each in module.parameters())
    return (
        parameters
        or module.training
        or any(each._forward_hooks or each._forward_pre_hooks for each in module.modules())
    )


def _block(block: Block, sharing: bool) -> OrdinaryBlock | None:
    attention, around = _heads(block.attention, sharing, Position, Rotary), _around(block.around_attention)
    cross = None if block.cross is None else _heads(block.cross, sharing, Position)
    around_cross = None if block.around_cross is None else _around(block.around_cross)
    feedforward, outside = _feedforward(block.feedforward, sharing), _around(block.around_feedforward)
    if attention is None or around is None or feedforward is None or outside is None:
        return None
    if (cross is None) != (block.cross is None) or (around_cross is None) != (block.around_cross is None):
        return None
    return OrdinaryBlock(attention, around, cross, around_cross, feedforward, outside)


def _heads(module: MultiHeadAttention, sharing: bool, *positions: type[Position]) -> Heads | None:
    mechanism = module.mechanism
    score, normalizer = mechanism.score, mechanism.normalizer
    parts = [_projection(each, sharing) for each in (module.query, module.key, module.value, module.output)]
    query, key, value, output = parts
    if type(module.answer) is not Output:
        return None
    if query is None or key is None or value is None or output is None or not _usual(mechanism, positions):
        return None
    assert isinstance(score, Product)
    assert isinstance(normalizer, Softmax)
    scale = score.scale * normalizer.fixed
    return Heads(query, key, value, output, module.heads, module.groups, scale, _turn(mechanism.position))


def _usual(mechanism: Mechanism, positions: tuple[type[Position], ...]) -> bool:
    """Whether it is a softmax of scaled products over all keys, with positions that at most turn them."""
    score, normalizer = mechanism.score, mechanism.normalizer
    product = isinstance(score, Product) and type(score).ask is Product.ask and type(score).prepare is Product.prepare
    soft = type(normalizer) is Softmax and normalizer.sharpness is None
    plain = type(mechanism.scope) is Scope and type(mechanism.position) in positions
    return product and soft and plain and mechanism.settings.kernel in ("auto", "fused") and not mechanism.explicit


def _projection(module: nn.Module, sharing: bool) -> Projection | None:
    if type(module) is not nn.Linear:
        return None
    return Projection(module.weight, module.bias, threads_for(module.weight) if sharing else 1)


def _turn(position: Position) -> Turn | None:
    """What turns queries and keys; with halves it is x (cos, cos) + (second, first) (-sin, sin), in half the calls."""
    if type(position) is not Rotary:
        return None
    width, base = position.turned, position.base

    def halves(x_RH1E: Tensor, at: range) -> Tensor:
        if x_RH1E.shape[-1] != width:
            return position.rotate(x_RH1E, at)
        along, across = _waves(at, width, base, x_RH1E.dtype)
        return x_RH1E * along + x_RH1E.roll(width // 2, -1) * across

    return halves if position.layout == "halves" else position.rotate


@lru_cache(maxsize=16)
def _waves(at: range, width: int, base: float, dtype: torch.dtype) -> tuple[Float[Tensor, " E"], Float[Tensor, " E"]]:
    """(cos, cos) and (-sin, sin), as they come out where (1, 0) is turned."""
    with torch.inference_mode(False), torch.no_grad():
        one = torch.ones(1, 1, 1, width, dtype=dtype)
        one[..., width // 2 :] = 0
        cos, sin = Rotary(width, base=base, layout="halves").rotate(one, at).flatten().chunk(2)
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


def _feedforward(module: FeedForward, sharing: bool) -> Layer | None:
    inner, outer, activation = _projection(module.inner, sharing), _projection(module.outer, sharing), module.activation
    if inner is None or outer is None:
        return None
    if module.gate is None:
        return lambda x: outer(activation(inner(x)))
    gate = _projection(module.gate, sharing)
    return None if gate is None else lambda x: outer(activation(inner(x)) * gate(x))
