"""Who runs a stack: the kernels, a few calls of torch, or its modules; and with which kernels the modules compute."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from operator import attrgetter
from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import watched
from regard.nn import native
from regard.nn.blocks import Block
from regard.nn.compiled import Compiled, Ends, Kept, readable
from regard.nn.embeddings import Embedding, Readout
from regard.nn.remembered import Remembered
from regard.nn.stepping import Growing, Ordinary

Plan = Compiled | Ordinary
Walk = tuple[native.Hypotheses, native.Rules, int, int]
"""Beams, the rules they go by, how long the first step makes an output, and how many steps there may be."""
Going = Kept | Growing


class Known:
    """A stack's plan, and the parts and parameters it was made of."""

    def __init__(self, stack: nn.Module, blocks: Sequence[Block], norm: nn.Module) -> None:
        self.modules = list(stack.modules())
        self.parts = [module._modules for module in self.modules]
        self.tables = [module._parameters for module in self.modules]
        self.parameters = [each for each in _all(self.tables) if each is not None]
        self.counted = [each for each in self.parameters if not each.is_inference()]
        self.sampled = native.Sample(self.parameters) if native.ready() else None
        self.structure, self.places, self.numbers = self._structure(), self._places(), self._numbers()
        usable = all(each.device.type == "cpu" for each in self.parameters)
        self.plan = (Compiled.of(list(blocks), norm) or Ordinary.of(list(blocks), norm)) if usable else None

    def stands(self) -> bool:
        """Whether all is as it was. Asked for every text, so everything in it is a loop inside Python."""
        same = self.structure == self._structure() and self.places == self._places()
        return same and self.numbers == self._numbers()

    def _structure(self) -> list[int]:
        """Changes with the modules and with which tensors are their parameters."""
        return list(map(id, chain(_all(self.parts), _all(self.tables))))

    def _places(self) -> list[int]:
        return list(map(Tensor.data_ptr, self.parameters))

    def _numbers(self) -> list[int]:
        """Changes with the numbers in the parameters, where those are that were."""
        versions = list(map(attrgetter("_version"), self.counted))
        ready = native.ready()
        return [*versions, ready, self.sampled() if ready and self.sampled is not None else 0]

    def unseen(self) -> bool:
        """Whether nobody would miss the modules: no tap is watched, and nobody has hooked into them."""
        return not watched() and not any(each._forward_hooks or each._forward_pre_hooks for each in self.modules)


def _all(tables: list[dict[str, Any]]) -> Iterator[Any]:
    return chain.from_iterable(map(dict.values, tables))


_known: WeakKeyDictionary[nn.Module, Known] = WeakKeyDictionary()


def known(stack: nn.Module, blocks: Sequence[Block], norm: nn.Module) -> Known | None:
    """How the stack can be run without its modules; None where it learns."""
    if torch.is_grad_enabled() or stack.training:
        return None
    found = _known.get(stack)
    if found is None or not found.stands():
        found = _known[stack] = Known(stack, blocks, norm)
    return found


def company(plan: Plan | None) -> AbstractContextManager[object]:
    """What modules run in, so that they compute what the plan would."""
    return native.Natively() if plan is not None and plan.native else nullcontext()


def stepped(
    pieces: Int[Tensor, " R"], past: object, sources: Remembered | None = None
) -> tuple[Float[Tensor, "R V"], Kept] | None:
    """A whole step, from pieces to what may follow them, where the kernels can take it and nobody watches."""
    kept = _steppable(pieces, past, sources)
    return None if kept is None else kept.plan.step(pieces, kept, sources)


def walked(
    pieces: Int[Tensor, " R"], past: object, sources: Remembered | None, walk: Walk
) -> tuple[native.Steps, Kept] | None:
    """Several steps at once, where the kernels can take them and nobody watches."""
    kept = _steppable(pieces, past, sources)
    return None if kept is None else kept.plan.walk(pieces, kept, sources, *walk)


def _steppable(pieces: Int[Tensor, " R"], past: object, sources: Remembered | None) -> Kept | None:
    """Where texts stand, if the kernels can go on from there with these pieces."""
    if not isinstance(past, Kept) or past.ends is None or watched() or torch.is_grad_enabled():
        return None
    rows = pieces.shape[0]
    fitting = rows == past.origin.shape[0] and readable(sources, rows) and past.ends.known(pieces)
    return past if fitting else None


def ended(past: object, embedding: Embedding, readout: Readout | None) -> None:
    """Tells a text's next steps what stands before and after its stack; None where that is not all there is."""
    if isinstance(past, Kept) and past.ends is None and readout is not None and not watched():
        past.ends = Ends.of(embedding, readout)
