"""The numbers of one source computed alone: no neighbours, no padding, one hypothesis, piece by piece.

What a model says of a text in a batch differs in the last digits with the batch's shape. Computed this way there is one
shape only, so the numbers are the same whichever batch asks for them. `ties` decides by them what rounding might.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.coverage import Coverage, Looking
from regard.decode.hypotheses import Pieces
from regard.models.protocols import Decoder, State


class Node(NamedTuple):
    """A prefix: its state, what may follow it, its sum of log-probabilities and what it has seen of the source."""

    state: State
    following: Float[Tensor, " V"]
    total: float
    seen: Float[Tensor, "1 S"] | None
    coverage: float


class Canonical:
    """Every prefix asked for is computed once and kept until the search of its source is over."""

    def __init__(
        self,
        model: Decoder,
        source: Sequence[int],
        device: torch.device,
        looking: Looking | None = None,
        weight: float = 0.0,
    ) -> None:
        self.model, self._given = model, (source, device)
        self.looking = looking if weight else None
        self.weight = weight
        self.nodes: dict[Pieces, Node] = {}

    @cached_property
    def source(self) -> Int[Tensor, "1 S"]:
        """The source alone; seldom asked for."""
        pieces, device = self._given
        return torch.tensor([pieces], device=device)

    def after(self, pieces: Pieces) -> Float[Tensor, " V"]:
        """Log-probabilities of what follows a prefix."""
        return self._node(pieces).following

    def total(self, pieces: Pieces) -> float:
        """The sum of a text's log-probabilities; the end is a piece like any other."""
        if not pieces:
            return 0.0
        node = self._node(pieces[:-1])
        return node.total + float(node.following[pieces[-1]])

    def coverage(self, pieces: Pieces) -> float:
        """The coverage penalty once what follows these pieces was asked for."""
        return self._node(pieces).coverage

    def _node(self, pieces: Pieces) -> Node:
        known = len(pieces)
        while known and pieces[:known] not in self.nodes:
            known -= 1
        node = self.nodes.get(pieces[:known]) or self._begin()
        for length in range(known + 1, len(pieces) + 1):
            node = self._grow(node, pieces[:length])
        return node

    def _begin(self) -> Node:
        state, first = self.model.start(self.source, None)
        self.nodes[()] = self._stepped(first, state, 0.0, None)
        return self.nodes[()]

    def _grow(self, node: Node, pieces: Pieces) -> Node:
        total = node.total + float(node.following[pieces[-1]])
        piece = torch.tensor(pieces[-1:], device=self.source.device)
        self.nodes[pieces] = self._stepped(piece, node.state, total, node.seen)
        return self.nodes[pieces]

    def _stepped(self, piece: Tensor, state: State, total: float, seen: Tensor | None) -> Node:
        following, state = self.model.step(piece, state)
        if self.looking is None:
            return Node(state, following[0], total, None, 0.0)
        coverage = Coverage(self.looking, self.weight, torch.ones_like(self.source, dtype=torch.bool))
        coverage.seen = coverage.seen if seen is None else seen
        penalty = coverage.look()[0]
        return Node(state, following[0], total, coverage.seen, penalty)
