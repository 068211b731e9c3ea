"""The tree of a search: what every step kept, what it let go, and the path that won. Looking changes nothing.

with tracing() as traces:
    search(model, source, real, settings)
traces[0].tree()
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Literal

import torch

from regard.decode.candidates import Step
from regard.decode.hypotheses import Candidate, Hypothesis, Live, Pieces
from regard.decode.sought import Sought, Track

Fate = Literal["kept", "lost", "finished", "won"]
# The most nodes of a tree.
NODES = 2000


@dataclass(frozen=True)
class Node:
    """A piece after those of its parent, and what became of it; its number is its place in the tree.

    `score` is the sum of log-probabilities up to it, and once it is finished what outputs are ranked by.
    """

    parent: int | None
    step: int
    piece: int
    score: float
    log_probability: float
    fate: Fate


@dataclass(frozen=True)
class Tree:
    """All nodes, parents before their children; `cut` where there were more, which are not on the path that won."""

    beams: int
    nodes: tuple[Node, ...]
    cut: bool

    @property
    def won(self) -> tuple[Node, ...]:
        """The path that won, from its first piece."""
        return tuple(node for node in self.nodes if node.fate == "won")

    def pieces(self, number: int) -> Pieces:
        """The pieces up to a node."""
        found: list[int] = []
        at: int | None = number
        while at is not None:
            found.append(self.nodes[at].piece)
            at = self.nodes[at].parent
        return tuple(reversed(found))


class Trace:
    """The search of one source as it goes on."""

    def __init__(self, sought: Sought) -> None:
        self.end, self.beams = sought.end, sought.settings.beams
        self.source = sought.source
        self.outputs: Sequence[Hypothesis] = ()
        self._nodes: list[Node] = []
        # Where a track's hypothesis stands among the nodes; the end is a piece like any other.
        self._places: dict[tuple[int, Pieces], int] = {}

    def grow(self, number: int, track: Track, before: Sequence[Live], ended: int, step: Step | None) -> None:
        """What became of a track that had these hypotheses and so many ended ones; a forced piece has no step."""
        for one in track.live:
            self._put(number, one.pieces, one.total, one.log_probabilities[-1], "kept")
        for each in track.ended[ended:]:
            pieces = (*each.pieces, self.end) if each.complete else each.pieces
            if pieces:
                self._put(number, pieces, each.score, each.log_probabilities[-1], "finished")
        for rest in [] if step is None else self._lost(number, before, step):
            self._put(number, rest.pieces, rest.score, rest.log_probability, "lost")

    def _lost(self, number: int, before: Sequence[Live], step: Step) -> list[Candidate]:
        """The best that were not chosen, as many as there are beams."""
        found = [
            Candidate(one.total + value, one, piece, value)
            for one in before
            for value, piece in zip(step.values[one.row], step.pieces[one.row], strict=True)
            if value > -torch.inf and (number, (*one.pieces, piece)) not in self._places
        ]
        return sorted(found, key=itemgetter(0), reverse=True)[: self.beams]

    def _put(self, number: int, pieces: Pieces, score: float, log_probability: float, fate: Fate) -> None:
        parent = self._places.get((number, pieces[:-1]))
        node = Node(parent, len(pieces) - 1, pieces[-1], score, log_probability, fate)
        at = self._places.setdefault((number, pieces), len(self._nodes))
        self._nodes[at : at + 1] = [node]

    def tree(self, most: int = NODES) -> Tree:
        """What was seen, with the path of the best output; beyond `most` nodes the last ones beside it are left out."""
        path = self._won()
        won = set(path)
        nodes = [replace(node, fate="won") if at in won else node for at, node in enumerate(self._nodes)]
        others = [at for at in range(len(nodes)) if at not in won]
        kept = sorted(path[:most] + others[: max(most - len(path), 0)])
        places = {at: number for number, at in enumerate(kept)}
        moved = [replace(nodes[at], parent=_moved(nodes[at].parent, places)) for at in kept]
        return Tree(self.beams, tuple(moved), len(kept) < len(nodes))

    def _won(self) -> list[int]:
        """The places of the nodes of the best output, first to last."""
        if not self.outputs:
            return []
        best = self.outputs[0]
        pieces = (*best.pieces, self.end) if best.complete else best.pieces
        # Of two groups of beams one may have let go what the other finished.
        tracks = (key[0] for key, at in self._places.items() if key[1] == pieces and self._nodes[at].fate == "finished")
        number = next(tracks, None)
        return [] if number is None else [self._places[number, pieces[: at + 1]] for at in range(len(pieces))]


def _moved(parent: int | None, places: dict[int, int]) -> int | None:
    return None if parent is None else places[parent]


_watching: ContextVar[list[Trace] | None] = ContextVar("watching", default=None)


@contextmanager
def tracing() -> Iterator[list[Trace]]:
    """The traces of all searches begun inside and in this thread, one for each source, in order."""
    traces: list[Trace] = []
    token = _watching.set(traces)
    try:
        yield traces
    finally:
        _watching.reset(token)


def traced() -> bool:
    """Whether anyone looks."""
    return _watching.get() is not None


def begun(sought: Sought) -> Trace | None:
    """A trace of this source's search, if anyone looks."""
    traces = _watching.get()
    if traces is None:
        return None
    traces.append(Trace(sought))
    return traces[-1]
