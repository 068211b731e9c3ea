"""What beams choose at a step, by the kernels: nothing that rounding could have decided."""

from ctypes import byref
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.nn.native.kernels import kernels, threads
from regard.nn.native.structures import Choosing

# What the kernels say of a source whose choice they leave open.
OPEN = -1


class Rules(NamedTuple):
    """How many go on, what ends a text, what is never written, and how near to one another sums may be left alone.

    The margin is that of up to `easy` pieces, or as much log-probability; beyond, in proportion.
    """

    size: int
    end: int
    banned: Int[Tensor, " X"]
    margin: float
    easy: int


class Hypotheses(NamedTuple):
    """What there is to choose for: the sum of each row, and of each source how many of its rows count, and how many
    hypotheses have ended before."""

    totals: Float[Tensor, " R"]
    live: Int[Tensor, " B"]
    ended: Int[Tensor, " B"]


class Chosen(NamedTuple):
    """Of each source how many go on, or OPEN, and how many end; of all of these, in as many places as a source can
    fill, the row each comes from, its piece, its log-probability and its sum: those that go on, then those that end."""

    going: Int[Tensor, " B"]
    ending: Int[Tensor, " B"]
    rows: Int[Tensor, "2 N"]
    pieces: Int[Tensor, "2 N"]
    values: Float[Tensor, "2 N"]
    sums: Float[Tensor, "2 N"]

    def first(self, sources: int, size: int) -> "Chosen":
        """Of so many sources, for which all room was taken from its beginning."""
        told = (each.view(-1)[: 2 * sources * size].view(2, -1) for each in self[2:])
        return Chosen(self.going[:sources], self.ending[:sources], *told)


KINDS = (torch.int64,) * 4 + (torch.float64,) * 2


class Endings(NamedTuple):
    """Hypotheses that ended on the way: in which step, of which source at the start, from which row before that step,
    the sum of that row, and the log-probability of the end."""

    steps: Int[Tensor, " N"]
    sources: Int[Tensor, " N"]
    rows: Int[Tensor, " N"]
    before: Float[Tensor, " N"]
    values: Float[Tensor, " N"]

    @classmethod
    def room(cls, most: int) -> "Endings":
        return cls(*(torch.empty(most, dtype=kind) for kind in (torch.int64,) * 3 + (torch.float64,) * 2))

    def first(self, count: int) -> "Endings":
        return Endings(*(each[:count] for each in self))


class Steps(NamedTuple):
    """Steps that sources took while each went on with all of its beams or was over, and the one after, which a search
    has to see to itself."""

    # Of each step and row: the row it came from, its piece and its log-probability. What is over leaves rows behind
    # that say nothing.
    rows: Int[Tensor, "T R"]
    pieces: Int[Tensor, "T R"]
    values: Float[Tensor, "T R"]
    # The sources that are not over, by their number at the start, the last piece of each hypothesis, and what they are.
    left: Int[Tensor, " B"]
    last: Int[Tensor, " N"]
    after: Hypotheses
    endings: Endings
    # What may follow, and what was chosen of it, which is nothing where there is a NaN; None: all went on.
    said: Float[Tensor, "N V"] | None
    chosen: Chosen | None


def choose(said: Float[Tensor, "R V"], before: Hypotheses, length: int, rules: Rules) -> Chosen | None:
    """The best after hypotheses that will have this length; None where there is a NaN."""
    said = said.contiguous()
    found, asked = choosing(said, before, length, rules)
    return None if kernels().regard_choose(byref(asked)) else found


def choosing(said: Float[Tensor, "R V"], before: Hypotheses, length: int, rules: Rules) -> tuple[Chosen, Choosing]:
    """Room for what will be chosen, and what the kernels have to know."""
    sources, (rows, vocabulary) = before.live.shape[0], said.shape
    shapes = [(sources,)] * 2 + [(2, sources * rules.size)] * 4
    found = Chosen(*map(_empty, shapes, KINDS))
    return found, Choosing(
        said.data_ptr(),
        *map(Tensor.data_ptr, before),
        sources,
        rows // sources,
        vocabulary,
        rules.banned.data_ptr(),
        rules.banned.shape[0],
        rules.end,
        rules.size,
        length,
        rules.margin,
        rules.easy,
        *map(Tensor.data_ptr, found),
        threads(),
    )


def _empty(shape: tuple[int, ...], kind: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=kind)
