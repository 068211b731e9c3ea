"""Engines that search by themselves, instead of telling what follows one step at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.hypotheses import Hypothesis, Pieces, Request
from regard.decode.settings import SearchSettings
from regard.models.protocols import Decoder, Start, State
from regard.nn import native


@dataclass(frozen=True)
class Asked:
    """All that a search is asked, of the pieces of each source."""

    sources: Sequence[Sequence[int]]
    settings: SearchSettings
    requests: Sequence[Request] | None = None
    banned: Sequence[int] = ()


Walk = Callable[..., tuple[native.Steps, State] | None]
"""What takes several steps of beams at once; None: each has to be taken by itself."""


class Progressing(NamedTuple):
    """What will not change any more, and the outputs once the search is over."""

    settled: Pieces
    outputs: tuple[Hypothesis, ...] = ()


@runtime_checkable
class Searcher(Protocol):
    """What an engine that searches by itself offers; what it cannot do it refuses in a sentence."""

    @property
    def callers(self) -> int:
        """How many may call it at once, each with a batch of its own, so that it never waits for one of them."""
        ...

    def search(self, asked: Asked) -> list[list[Hypothesis]]: ...

    def stream(self, asked: Asked) -> Iterator[Progressing]: ...

    def ending(self, model: Decoder, stops: Sequence[int]) -> "Searcher":
        """The same, for outputs that any of `stops` ends; `model` says step by step what it would find."""
        ...


class Stepwise:
    """A model that is asked step by step, whatever else could search it."""

    def __init__(self, model: Decoder) -> None:
        self.model, self.vocabulary = model, model.vocabulary
        self.walk = walk_of(model)

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        return self.model.start(source, real)

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        return self.model.step(pieces, state)


def walk_of(model: Any) -> Walk | None:
    """How a model takes several steps; None where it cannot, or its `step` is another than that its `walk` goes by."""
    for owner in (model, *type(model).__mro__):
        own = getattr(owner, "__dict__", {})
        if "walk" in own or "step" in own:
            return getattr(model, "walk", None) if "walk" in own else None
    return None


def alone(model: Decoder, row: int) -> Decoder:
    """The model to one text of its batch alone: itself, unless what it says hangs on whose text it is."""
    own: Callable[[int], Decoder] | None = getattr(model, "alone", None)
    return model if own is None else own(row)


def searcher_of(model: object) -> Searcher | None:
    """What searches this model by itself, if anything does."""
    found: Searcher | None = getattr(model, "searcher", None)
    return found
