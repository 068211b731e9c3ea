"""What search, training and explanation may ask of a model, and nothing more."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import ConfigError, ModelError


@dataclass(frozen=True)
class Vocabulary:
    """How many pieces there are on each side, and which of them begin and end a text."""

    source: int
    target: int
    begin: int = 1
    end: int = 2

    def __post_init__(self) -> None:
        for name in ("begin", "end"):
            if not 0 <= getattr(self, name) < self.target:
                raise ConfigError(
                    f"{name} = {getattr(self, name)} is no piece of the target's vocabulary of {self.target}; "
                    "choose one of its pieces."
                )


@dataclass(frozen=True)
class Decoded:
    """What a decoder knows about each next piece: hidden states, and weights over the source where it may copy."""

    hidden: Float[Tensor, "B T D"]
    weights: Float[Tensor, "B T S"] | None = None
    source: Int[Tensor, "B S"] | None = None


@dataclass(frozen=True)
class State:
    """Where generation stands: what each source shares among its hypotheses, and what each hypothesis has of its own.

    Rows of hypotheses stand source by source: with N to each source, row r belongs to source r // N.
    """

    shared: Any
    own: Any

    def select(self, rows: Int[Tensor, " R"], sources: Int[Tensor, " B"] | None = None) -> "State":
        """The state in which new hypothesis i goes on from old hypothesis rows[i]; `sources` keeps only some."""
        shared = self.shared if sources is None else pick(self.shared, sources)
        return State(shared, pick(self.own, rows))


class Start(NamedTuple):
    """A state to begin from, and the piece with which each source's first step is taken."""

    state: State
    first: Int[Tensor, " B"]


@runtime_checkable
class Decoder(Protocol):
    """All that generates, whatever it is made of. One that has a `walk` too can take several steps in one call."""

    vocabulary: Vocabulary

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start: ...

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        """Log-probabilities of what follows these pieces, and the state after them."""
        ...


def room(model: Any, read: int) -> int | None:
    """How many pieces a model can write after so many it has read, an end after them left out; None: any number."""
    told = getattr(model, "room", None)
    return None if told is None else told(read)


def pick(tree: Any, rows: Int[Tensor, " R"]) -> Any:
    """These rows of every tensor in a tree of tuples and of things that select for themselves."""
    if tree is None or isinstance(tree, int | range):
        return tree
    if isinstance(tree, Tensor):
        return tree.index_select(0, rows)
    if isinstance(tree, tuple):
        branches = [pick(branch, rows) for branch in tree]
        return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
    return tree.select(rows)


def check_pieces(pieces: Int[Tensor, "B T"], real: Bool[Tensor, "B T"] | None, vocabulary: int) -> None:
    """Pieces that a model can embed, and a mask that fits them."""
    if pieces.dim() != 2 or pieces.is_floating_point() or pieces.numel() == 0:
        raise ModelError(
            f"Pieces of type {pieces.dtype} and shape {tuple(pieces.shape)}; give whole numbers, batch x length, "
            "at least one of each."
        )
    if real is not None:
        check_real(real, pieces)
    lowest, highest = int(pieces.min()), int(pieces.max())
    if lowest < 0 or highest >= vocabulary:
        wrong = lowest if lowest < 0 else highest
        raise ModelError(f"Piece {wrong} is outside the vocabulary of {vocabulary} (0 to {vocabulary - 1}).")


def check_real(real: Bool[Tensor, "B T"], pieces: Int[Tensor, "B T"]) -> None:
    """A mask of the pieces' shape that leaves something to read."""
    if real.dtype != torch.bool or real.shape != pieces.shape:
        raise ModelError(
            f"The mask of real pieces is {real.dtype} of shape {tuple(real.shape)}, expected torch.bool of shape "
            f"{tuple(pieces.shape)} where True = real."
        )
    if not bool(real.any()):
        raise ModelError("The mask leaves no piece of any text; True must mean 'real', so perhaps it is inverted.")


def check_pair(source: Int[Tensor, "B S"], target: Int[Tensor, "B T"], vocabulary: Vocabulary) -> None:
    """Targets that a model can embed, one to a source."""
    check_pieces(target, None, vocabulary.target)
    if source.shape[0] != target.shape[0]:
        raise ModelError(f"{source.shape[0]} sources but {target.shape[0]} targets; give one target to each source.")


def if_ragged(real: Bool[Tensor, "B T"] | None) -> Bool[Tensor, "B T"] | None:
    """The mask, or None where it hides nothing: kernels run faster without one."""
    return None if real is None or bool(real.all()) else real


def repeated(rows: Tensor, beams: int) -> Tensor:
    """Each source's row once for each of its hypotheses."""
    return rows if beams == 1 else rows.repeat_interleave(beams, dim=0)


def first_pieces(count: int, piece: int, device: torch.device) -> Int[Tensor, " B"]:
    return torch.full((count,), piece, dtype=torch.long, device=device)
