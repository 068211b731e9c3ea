"""A stack of ordinary blocks as the kernels of `native` run it: any number of pieces in one call.

Keys and values of what is being written lie in a table of places x rows that only ever grows: a hypothesis is a list of
the rows in which its pieces lie, so choosing among hypotheses moves numbers of rows and not what they stand for.
"""

from collections.abc import Iterable, Sequence
from ctypes import POINTER, byref, c_void_p, cast
from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import FREE, LOOK_AHEAD, Memory, MultiHeadAttention
from regard.attention.heads import HeadNorm
from regard.attention.normalizers import Softmax
from regard.attention.positions import Rates, Rotary
from regard.attention.scores import Product
from regard.nn import native
from regard.nn.blocks import Block, Past, Residual, Scene
from regard.nn.embeddings import Embedding, Readout
from regard.nn.feedforward import ACTIVATIONS
from regard.nn.native import Hypotheses, Rules, Steps
from regard.nn.native import structures as c
from regard.nn.norms import LayerNorm, RMSNorm
from regard.nn.remembered import Remembered
from regard.nn.stepping import Ordinary

# Places that a table has room for at first, and the widest head that can be turned.
ROOM, WIDEST = 32, 1024
# So many steps are taken without anybody asking at most: nobody can interrupt them.
STRIDE = 32
# The row that each came from, its piece and its log-probability.
WRITTEN = torch.int64, torch.int64, torch.float64


class Ends:
    """What stands before and after a stack that writes, where both are as plain as can be."""

    def __init__(self, embedding: Embedding, readout: Readout) -> None:
        self.embedding, self.readout = embedding, readout
        packed, bias = native.packed(readout.weight), readout.bias
        self.alive = packed, bias, embedding.vectors
        self.out = packed.linear(bias)
        self.nothing = torch.zeros(1, 1, embedding.vectors.shape[1])
        # What is added to the logits of each source's hypotheses, minus infinity where a piece may not follow.
        self.hidden: Float[Tensor, "B V"] | None = None

    @classmethod
    def of(cls, embedding: Embedding, readout: Readout) -> "Ends | None":
        """Both for the kernels, or None where they do more than look up, scale, place and multiply."""
        more = (embedding.project, embedding.fixed, embedding.segments, embedding.norm, readout.project)
        plain = not embedding.beside and all(each is None for each in more)
        parts = (*embedding.modules(), *readout.modules())
        hooked = any(each._forward_hooks or each._forward_pre_hooks for each in parts)
        readable = native.serves(embedding.vectors, readout.weight, readout.bias) and embedding.vectors.is_contiguous()
        return cls(embedding, readout) if plain and not hooked and readable else None

    def known(self, pieces: Int[Tensor, " R"]) -> bool:
        """Whether there is a vector for each; what there is none for is the embedding's to refuse."""
        lowest, highest = torch.aminmax(pieces)
        return int(lowest) >= 0 and int(highest) < self.embedding.vectors.shape[0]

    def position(self, at: range) -> Float[Tensor, "1 T D"]:
        """What is added to every vector there."""
        return self.embedding.position.embed(self.nothing.expand(1, len(at), -1), at).contiguous()

    def given(self, pieces: Int[Tensor, " R"], position: Float[Tensor, "1 T D"], said: Float[Tensor, "R V"]) -> c.Ends:
        """As the kernels take them: pieces, where they stand, and room for what may follow."""
        vectors = self.embedding.vectors.data_ptr()
        places = position.data_ptr(), pieces.data_ptr()
        hidden = None if self.hidden is None else self.hidden.data_ptr()
        return c.Ends(vectors, self.embedding.factor, *places, self.out, said.data_ptr(), hidden)


class Kept:
    """Where hypotheses stand: the table, the row of each of their pieces, and how many there are."""

    def __init__(
        self, plan: "Compiled", table: Tensor, origin: Tensor, length: int, written: list[int], ends: Ends | None = None
    ) -> None:
        self.plan, self.table, self.origin, self.length = plan, table, origin, length
        # How many places of the table are taken, by whichever hypotheses; shared by all who share the table.
        self.written = written
        self.ends = ends

    @classmethod
    def of(cls, plan: "Compiled", pasts: tuple[Past, ...]) -> "Kept":
        """What modules have kept, put into a table."""
        memories = [past.memory for past in pasts if past.memory is not None]
        rows, length = len(memories[0].keys), memories[0].size
        kept = cls.fresh(plan, rows, length)
        for layer, memory in enumerate(memories):
            for which, each in enumerate((memory.keys, memory.values)):
                kept.table[layer, which] = each.permute(2, 0, 1, 3).flatten(2)
        kept.length = kept.written[0] = length
        return kept

    @classmethod
    def fresh(cls, plan: "Compiled", rows: int, places: int, layers: int | None = None) -> "Kept":
        table = torch.empty(plan.layers if layers is None else layers, 2, places, rows, plan.shared)
        return cls(plan, table, _rows(rows).repeat(1, places), 0, [0])

    def select(self, rows: Int[Tensor, " R"]) -> "Kept":
        origin = self.origin.index_select(0, rows)
        return Kept(self.plan, self.table, origin, self.length, self.written, self.ends)

    def grown(self, pieces: int) -> "Kept":
        """The same with room for more pieces that nobody else has taken."""
        rows, places = self.origin.shape
        free = self.written[0] == self.length and rows <= self.table.shape[3]
        if free and self.length + pieces <= places:
            return self
        moved = Kept.fresh(self.plan, rows, max(2 * self.length, self.length + pieces, ROOM))
        moved.table[:, :, : self.length] = self._gathered()
        moved.length = moved.written[0] = self.length
        moved.ends = self.ends
        return moved

    def _gathered(self) -> Float[Tensor, "L 2 K R X"]:
        places_K1 = torch.arange(self.length)[:, None]
        return self.table[:, :, places_K1, self.origin[:, : self.length].T.long()]

    def pasts(self) -> tuple[Past, ...]:
        """As modules keep it."""
        at, table = range(self.length), self._gathered().unflatten(-1, (self.plan.groups, -1)).permute(0, 1, 3, 4, 2, 5)
        return tuple(Past(Memory(keys, values, None, at)) for keys, values in table)


class Compiled:
    """The stack's parameters as the kernels read them."""

    native = True

    def __init__(self, blocks: list[Block], norm: nn.Module) -> None:
        first = blocks[0].attention
        self.layers, self.width = len(blocks), first.query.in_features
        self.groups, self.shared = first.groups, first.key.out_features
        self.position = first.mechanism.position
        self.source_norms = [None if block.cross is None else block.cross.key_norm for block in blocks]
        self.alive: list[Tensor] = []
        self.blocks = (c.Block * len(blocks))(*map(self._block, blocks))
        self.last = self._norm(norm)

    @classmethod
    def of(cls, blocks: list[Block], norm: nn.Module) -> "Compiled | None":
        """The stack for the kernels, or None where a part of it is out of the ordinary, or there are no kernels."""
        parameters = [*norm.parameters(), *(each for block in blocks for each in block.parameters())]
        if not blocks or not native.serves(*parameters) or Ordinary.of(blocks, norm) is None or not _alike(blocks):
            return None
        return cls(blocks, norm)

    def run(
        self,
        x: Float[Tensor, "R T D"],
        scene: Scene,
        past: Any = None,
        sources: Remembered | None = None,
    ) -> "tuple[Float[Tensor, 'R T D'], Kept | None] | None":
        """The last block's output, normed, and where its texts stand; None for what is left to the modules."""
        kept = Kept.of(self, past) if isinstance(past, tuple) and _whole(past) else past
        jointly = (sources is not None) != bool(self.blocks[0].crossed)
        if isinstance(kept, tuple) or jointly or not self._takes(x, scene, kept) or not readable(sources, len(x)):
            return None
        assert isinstance(scene.at, range)
        x = x.clone(memory_format=torch.contiguous_format)
        if scene.mask is FREE:
            self._run(x, scene.at, Kept.fresh(self, len(x), x.shape[1], layers=1), True, scene.real, sources)
            return x, None
        kept = Kept.fresh(self, len(x), max(x.shape[1], ROOM)) if kept is None else kept.grown(x.shape[1])
        return x, self._run(x, scene.at, kept, False, None, sources)

    def step(
        self, pieces: Int[Tensor, " R"], kept: Kept, sources: Remembered | None = None
    ) -> tuple[Float[Tensor, "R V"], Kept]:
        """Log-probabilities of what follows these pieces, and where their texts stand then."""
        assert kept.ends is not None
        at, rows = range(kept.length, kept.length + 1), pieces.shape[0]
        x, said = torch.empty(rows, 1, self.width), torch.empty(rows, kept.ends.out.out)
        pieces, position = pieces.long().contiguous(), kept.ends.position(at)
        ends = kept.ends.given(pieces, position, said)
        return said, self._run(x, at, kept.grown(1), False, None, sources, ends)

    def walk(
        self,
        pieces: Int[Tensor, " R"],
        kept: Kept,
        sources: Remembered | None,
        beams: Hypotheses,
        rules: Rules,
        length: int,
        most: int,
    ) -> tuple[Steps, Kept]:
        """Steps of beams while every source has all of them or is over; the first makes outputs of this length."""
        kept = kept.grown(1)
        assert kept.ends is not None
        rows, places = kept.origin.shape
        # Positions are asked for ahead, but never past those there are: a search may end before.
        reach = kept.ends.embedding.position.length
        stop = min(kept.length + min(most, STRIDE), places, places if reach is None else reach)
        at = range(kept.length, max(stop, kept.length + 1))
        x, said = torch.empty(rows, 1, self.width), torch.empty(rows, kept.ends.out.out)
        # All of it moves with the hypotheses; what others hold of it stays.
        origin, spare = kept.origin.clone(memory_format=torch.contiguous_format), torch.empty_like(kept.origin)
        pieces, after = pieces.long().clone(), Hypotheses(*(each.clone() for each in beams))
        froms, added, values = (torch.empty(len(at), rows, dtype=kind) for kind in WRITTEN)
        position, (_alive, run) = kept.ends.position(at), self._asked(x, at, kept, origin, sources)
        chosen, asked = native.choosing(said, after, length, rules)
        # A source is over once as many have ended as it has beams, and all of those may end in one step.
        begun, endings = after.live.shape[0], native.Endings.room(2 * rows)
        going = torch.arange(begun)
        source = None if sources is None else (going if sources.left is None else sources.left).clone()
        run.sources_left = None if source is None else source.data_ptr()
        moving = map(Tensor.data_ptr, (pieces, after.live, after.totals, froms, added, values, after.ended, going))
        ending = map(Tensor.data_ptr, endings)
        walk = c.Walk(
            *(len(at), origin.data_ptr(), spare.data_ptr(), places, *moving, run.sources_left, *ending),
            *(0, begun, c.GOING),
        )
        around = kept.ends.given(pieces, position, said)
        kept.written[0] = at.stop
        taken = native.kernels().regard_walk(byref(run), self.blocks, byref(around), byref(asked), byref(walk))
        left, on = walk.sources, walk.end == c.GOING
        rows = left * rules.size
        kept.written[0] = kept.length + taken + (not on)
        where = Kept(self, kept.table, origin[:rows], kept.written[0], kept.written, kept.ends)
        found = None if on or walk.end == c.BROKEN else chosen.first(left, rules.size)
        after = Hypotheses(after.totals[:rows], after.live[:left], after.ended[:left])
        steps = Steps(
            *(froms[:taken], added[:taken], values[:taken], going[:left], pieces[:rows], after),
            endings.first(walk.endings),
            None if on else said[:rows],
            found,
        )
        return steps, where

    def remember(self, states: Sequence[Float[Tensor, "B S D"]], real: Bool[Tensor, "B S"] | None) -> Remembered | None:
        """A source as each block will attend to it; None where that is left to the modules."""
        if not self.blocks[0].crossed or not native.serves(*states):
            return None
        memories = map(self._remembered, self.blocks, self.source_norms, states, [real] * self.layers)
        return Remembered(tuple(memories), by_number=True)

    def _remembered(
        self, block: c.Block, norm: HeadNorm | None, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"] | None
    ) -> Memory:
        projected = (native.projection(by, states) for by in (block.cross.key, block.cross.value))
        keys_BSGE, values_BSGE = (each.unflatten(-1, (block.cross.groups, -1)) for each in projected)
        if norm is not None:
            keys_BSGE = native.norm("rms", keys_BSGE, norm.weight, None, norm.epsilon)
        return Memory(keys_BSGE.transpose(1, 2), values_BSGE.transpose(1, 2), real, range(states.shape[1]))

    def _takes(self, x: Tensor, scene: Scene, kept: Kept | None) -> bool:
        """Whether these pieces stand where the kernels count from, and see what the kernels let them see."""
        free, behind = scene.mask is FREE and kept is None, scene.mask is LOOK_AHEAD and scene.real is None
        begin, rows = (0, len(x)) if kept is None else (kept.length, len(kept.origin))
        placed = isinstance(scene.at, range) and scene.at.start == begin and scene.at.step == 1
        fitting = x.numel() > 0 and len(x) == rows and x.shape[-1] == self.width
        return (free or behind) and placed and fitting and native.serves(x)

    def _run(
        self,
        x: Float[Tensor, "R T D"],
        at: range,
        kept: Kept,
        ahead: bool,
        real: Bool[Tensor, "R T"] | None,
        sources: Remembered | None,
        ends: c.Ends | None = None,
    ) -> Kept:
        rows, pieces = x.shape[:2]
        table, origin, length = kept.table, kept.origin, kept.length
        if length:
            # Shared with whoever came from the same hypotheses: theirs stays as it is.
            origin = origin.clone()
            origin[:, length : length + pieces] = _rows(rows)
        kept.written[0] = length + pieces
        bias = None if real is None else _hidden(real)
        _alive, run = self._asked(x, at, kept, origin, sources)
        run.look_ahead, run.bias = ahead, None if bias is None else bias.data_ptr()
        if ends is None:
            native.kernels().regard_run(byref(run), self.blocks)
        else:
            native.kernels().regard_step(byref(run), self.blocks, byref(ends))
        return Kept(self, table, origin, length + pieces, kept.written, kept.ends)

    def _asked(
        self, x: Float[Tensor, "R T D"], at: range, kept: Kept, origin: Tensor, sources: Remembered | None
    ) -> tuple[tuple[Tensor, ...], c.Run]:
        """What the kernels are told of a pass, and the waves it points to, which have to stay."""
        table, steps, waves = kept.table, kept.table.stride(), tuple[Tensor, ...]()
        run = c.Run(
            x=x.data_ptr(),
            texts=x.shape[0],
            pieces=x.shape[1],
            at=kept.length,
            width=self.width,
            kept=table.data_ptr(),
            layer_step=steps[0] if table.shape[0] > 1 or self.layers == 1 else 0,
            value_step=steps[1],
            place_step=steps[2],
            row_step=steps[3],
            origin=origin.data_ptr(),
            origin_step=origin.stride(0),
            last=self.last,
            threads=native.threads(),
            layers=self.layers,
        )
        if isinstance(self.position, Rotary):
            waves = _waves(at, self.position.rates, self.position.layout)
            run.along, run.across = map(Tensor.data_ptr, waves)
            run.turned, run.pairs = self.position.turned, self.position.layout == "pairs"
        if sources is not None:
            self._source(run, sources)
        return waves, run

    def _source(self, run: c.Run, sources: Remembered) -> None:
        """Says where the sources lie."""
        whole, first = sources.whole, sources.whole[0].keys
        if not sources.places:
            real = whole[0].real
            sources.places[:] = (
                _addresses(memory.keys for memory in whole),
                _addresses(memory.values for memory in whole),
                None if real is None else _hidden(real),
            )
        keys, values, bias = sources.places
        run.source_keys, run.source_values = keys, values
        run.sources, run.source_length = len(sources), first.shape[2]
        run.sources_left = None if sources.left is None else sources.left.data_ptr()
        run.source_step, run.source_head_step, run.source_place_step = first.stride()[:3]
        run.source_bias = None if bias is None else bias.data_ptr()

    def _block(self, block: Block) -> c.Block:
        feedforward = block.feedforward
        names = {function: name for name, function in ACTIVATIONS.items()}
        made = c.Block(
            own=self._heads(block.attention),
            around_own=self._around(block.around_attention),
            crossed=block.cross is not None,
            inner=self._linear(feedforward.inner),
            outer=self._linear(feedforward.outer),
            gated=feedforward.gate is not None,
            activation=c.ACTIVATION_KINDS[names[feedforward.activation]],
            around_feedforward=self._around(block.around_feedforward),
        )
        if feedforward.gate is not None:
            made.gate = self._linear(feedforward.gate)
        if block.cross is not None and block.around_cross is not None:
            made.cross, made.around_cross = self._heads(block.cross), self._around(block.around_cross)
        return made

    def _heads(self, module: MultiHeadAttention) -> c.Heads:
        score, normalizer = module.mechanism.score, module.mechanism.normalizer
        assert isinstance(score, Product)
        assert isinstance(normalizer, Softmax)
        parts = map(self._linear, (module.query, module.key, module.value, module.output))
        norms = map(self._norm, (module.query_norm, module.key_norm))
        return c.Heads(*parts, module.heads, module.groups, score.scale * normalizer.fixed, *norms)

    def _linear(self, module: nn.Linear) -> c.Linear:
        packed = native.packed(module.weight)
        self.alive += [each for each in (packed.panels, packed.scales, module.bias) if each is not None]
        return packed.linear(module.bias)

    def _around(self, module: Residual) -> c.Around:
        return c.Around(self._norm(module.norm), module.before, module.alpha)

    def _norm(self, module: nn.Module | None) -> c.Norm:
        if isinstance(module, LayerNorm):
            return c.Norm(c.NORM_KINDS["layer"], self._at(module.weight), self._at(module.bias), module.epsilon)
        if isinstance(module, RMSNorm | HeadNorm):
            return c.Norm(c.NORM_KINDS["rms"], self._at(module.weight), None, module.epsilon)
        return c.Norm(c.NORM_KINDS["none"], None, None, 0.0)

    def _at(self, tensor: Tensor | None) -> int | None:
        """Where it lies; it stays there as long as this does."""
        if tensor is None:
            return None
        self.alive.append(tensor)
        return tensor.data_ptr()


def _alike(blocks: list[Block]) -> bool:
    """Whether one table has room for all of them, and one wave turns them."""
    first = blocks[0].attention
    attentions = [each for block in blocks for each in (block.attention, block.cross) if each is not None]
    whole = all(map(_whole_heads, attentions)) and first.mechanism.sizes.key <= WIDEST
    return whole and len({_shape(block) for block in blocks}) == 1


def _whole_heads(module: MultiHeadAttention) -> bool:
    """Whether its projections have room for its heads and for nothing else."""
    width, each = module.query.in_features, module.mechanism.sizes.key
    asking, shared = each * module.heads, each * module.groups
    projections = (module.query, module.key, module.value, module.output)
    sizes = [tuple(one.weight.shape) for one in projections]
    return sizes == [(asking, width), (shared, width), (shared, width), (width, asking)]


def _shape(block: Block) -> tuple[Any, ...]:
    attention, position = block.attention, block.attention.mechanism.position
    turned = (position.rates, position.layout) if isinstance(position, Rotary) else None
    return attention.heads, attention.groups, attention.query.weight.shape, attention.key.weight.shape, turned


def _whole(pasts: tuple[Past, ...]) -> bool:
    """Whether modules have kept nothing but keys and values, none of them padding."""
    memories = [past.memory for past in pasts if past.history is None]
    return len(memories) == len(pasts) and all(
        each is not None and each.real is None and isinstance(each.at, range) and each.at == range(each.size)
        for each in memories
    )


def readable(sources: Remembered | None, rows: int) -> bool:
    """Whether the sources of all layers lie alike, and so many rows are as many for each."""
    if sources is None:
        return True
    steps, even = sources.whole[0].keys.stride(), rows % len(sources) == 0
    alike = all(steps == each.keys.stride() == each.values.stride() for each in sources.whole)
    return even and steps[-1] == 1 and alike


def _addresses(tensors: Iterable[Tensor]) -> Any:
    places = [tensor.data_ptr() for tensor in tensors]
    return cast((c_void_p * len(places))(*places), POINTER(c_void_p))


def _hidden(real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S"]:
    """What is added to scores so that padding gets no weight."""
    return torch.zeros(real.shape).masked_fill_(~real, -torch.inf)


@lru_cache(maxsize=256)
@torch.inference_mode(False)
def _rows(rows: int) -> Int[Tensor, "R 1"]:
    return torch.arange(rows, dtype=torch.int32)[:, None]


def _waves(at: range, rates: Rates, layout: Any) -> tuple[Float[Tensor, "T E"], Float[Tensor, "T E"]]:
    """What each number of a head is multiplied with, and what its partner in the plane."""
    return (_one_wave if len(at) == 1 else _some_waves)(at, rates, layout)


@torch.inference_mode(False)
@torch.no_grad()
def _turned_ones(at: range, rates: Rates, layout: Any) -> tuple[Tensor, Tensor]:
    """As they come out where (1, 0) and (0, 1) are turned."""
    width, base, stretch = rates
    position = Rotary(width, base=base, layout=layout, stretch=stretch)
    first = torch.arange(width) % 2 == 0 if layout == "pairs" else torch.arange(width) < width // 2
    one, other = (which.float().expand(1, 1, len(at), width) for which in (first, ~first))
    turned, across = position.rotate(one, at)[0, 0], position.rotate(other, at)[0, 0]
    # (1, 0) becomes (cos, sin), (0, 1) becomes (-sin, cos).
    return torch.where(first, turned, across).contiguous(), torch.where(first, across, turned).contiguous()


_one_wave = lru_cache(maxsize=4096)(_turned_ones)
_some_waves = lru_cache(maxsize=8)(_turned_ones)
