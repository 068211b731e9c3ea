"""What may not be written next: each block names pieces for one hypothesis, and all act on the scores of a step."""

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decode.hypotheses import Live, Pieces


@runtime_checkable
class Block(Protocol):
    def blocked(self, live: Live) -> Collection[int]:
        """The pieces that may not follow this hypothesis."""
        ...


class Avoid:
    """The last piece of each sequence to be avoided, where the ones before it have just been written."""

    def __init__(self, sequences: Sequence[Pieces]) -> None:
        self.sequences = sequences

    def blocked(self, live: Live) -> set[int]:
        return {sequence[-1] for sequence in self.sequences if ends_with(live.pieces, sequence[:-1])}


class NoRepeat:
    """Every piece that would complete a sequence of `size` pieces already written, here or in what came first."""

    def __init__(self, size: int, first: Pieces = ()) -> None:
        self.size, self.first = size, first

    def blocked(self, live: Live) -> set[int]:
        pieces, before = self.first + live.pieces, self.size - 1
        if len(pieces) < self.size:
            return set()
        last = pieces[len(pieces) - before :]
        return {pieces[i + before] for i in range(len(pieces) - before) if pieces[i : i + before] == last}


class Unmet:
    """The end, until all that must appear has appeared."""

    def __init__(self, end: int) -> None:
        self.end = {end}

    def blocked(self, live: Live) -> set[int]:
        return set() if live.progress is None or all(live.progress.met) else self.end


class Whole:
    """What would go on with a word that had to appear just as it is."""

    def __init__(self, entries: Sequence[Sequence[Pieces]], inside: Collection[int]) -> None:
        self.sequences = [sequence for entry in entries for sequence in entry]
        self.inside = inside

    def blocked(self, live: Live) -> Collection[int]:
        if not any(ends_with(live.pieces, sequence) for sequence in self.sequences):
            return ()
        # A longer term may go on where a shorter one ends.
        going_on = {one[len(two)] for one in self.sequences for two in self.sequences if _begins(one, two)}
        return set(self.inside) - going_on


def _begins(sequence: Pieces, beginning: Pieces) -> bool:
    return len(sequence) > len(beginning) and sequence[: len(beginning)] == beginning


def ends_with(pieces: Pieces, ending: Pieces) -> bool:
    return len(ending) <= len(pieces) and pieces[len(pieces) - len(ending) :] == ending


def pairs(live: Sequence[Live], blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Row and piece of everything these blocks forbid these hypotheses."""
    for one in live:
        for block in blocks:
            yield from ((one.row, piece) for piece in block.blocked(one))


def allowed(
    said: Float[Tensor, "R V"], banned: Sequence[int], blocked: Sequence[tuple[int, int]], end: int
) -> Float[Tensor, "R V"]:
    """The scores with -infinity at what may not be written; where that is everything, the hypothesis may end."""
    device = said.device
    scores_RV = said.index_fill(1, torch.tensor(banned, dtype=torch.long, device=device), -torch.inf)
    if blocked:
        rows, pieces = torch.tensor(blocked, device=device).unbind(1)
        scores_RV[rows, pieces] = -torch.inf
        touched = rows.unique()
        stuck = touched[scores_RV[touched].amax(-1) == -torch.inf]
        scores_RV[stuck, end] = said[stuck, end]
    return scores_RV
