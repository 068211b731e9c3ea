"""What can be asked of one prediction that is to be explained; no task's name is known here."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.explain.attribution import Axis


@dataclass(frozen=True)
class Look:
    """One attention layer: its tap, and what its queries and keys stand for.

    Queries are positions of the inputs, of the outputs, or one for the whole text (pooling). Where inputs are read in
    several goes, `at` has for each call of the layer the input at which its queries begin, and that of its keys.
    """

    tap: str
    layer: int
    kind: Literal["self", "cross", "pool"]
    queries: Literal["inputs", "outputs", "one"]
    keys: Literal["inputs", "outputs"]
    at: tuple[tuple[int, int], ...] = ()


@runtime_checkable
class Subject(Protocol):
    """One input of a model and what was made of it: all outputs are given, and only their scores are asked for."""

    @property
    def model(self) -> nn.Module: ...

    @property
    def inputs(self) -> Axis:
        """What the model read, piece by piece."""
        ...

    @property
    def outputs(self) -> Axis:
        """What is explained: pieces written, or one label, tag or answer."""
        ...

    @property
    def pieces(self) -> Int[Tensor, " S"]:
        """The ids of the inputs."""
        ...

    @property
    def blank(self) -> int:
        """The id that stands for a piece that is taken away."""
        ...

    @property
    def looks(self) -> tuple[Look, ...]:
        """Attention layers from the first to the last, encoder before decoder."""
        ...

    @property
    def embedded(self) -> str:
        """The tap of the inputs' embeddings."""
        ...

    def scores(self, pieces: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None = None) -> Float[Tensor, "N O"]:
        """log p(each output | these inputs, the outputs before it), for N versions of the inputs; differentiable."""
        ...
