"""How much attention can flow from each input to each output when every link carries no more than its weight."""

from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from pydantic import PositiveInt
from torch import Tensor

from regard.config import Settings
from regard.errors import RequestError
from regard.explain.asking import Maps, probabilities, refuse_empty
from regard.explain.attribution import Attribution
from regard.explain.paths import Blend, Step, refuse_single, steps
from regard.explain.rollout import Share
from regard.explain.subject import Subject

CAVEAT = "Flow takes layers for pipes: what could pass, not what did; many inputs may share one bottleneck."

# Capacities are whole numbers below 2^31; no output sends more than one.
SCALE = 1_000_000_000


class FlowSettings(Settings):
    """`longest` counts pieces of input and output together: the work grows with the fourth power of it."""

    residual: Share = 0.5
    heads: Literal["mean", "max"] = "mean"
    longest: PositiveInt = 64


class Graph:
    """Layers as links between nodes: inputs are the nodes 0 to S - 1, outputs the last that were added."""

    def __init__(self, inputs: int) -> None:
        self.inputs, self.nodes = inputs, inputs
        self.states, self.written = [0], -1
        self.links: list[tuple[int, int, float]] = []

    def add(self, step: Step) -> None:
        if self.written < 0 and step.stream != "inputs":
            self.written = self._level(step.queries)
            self._link(self.written, 0, step.start(self.inputs))
        here = self._level(step.queries)
        if step.own is not None:
            self._link(here, self.states[-1] if step.stream == "inputs" else self.written, step.own)
        if step.inputs is not None:
            # The inputs themselves come before the states after their layers.
            self._link(here, self.states[step.depth if step.depth < 0 else step.depth + 1], step.inputs)
        if step.stream == "inputs":
            self.states.append(here)
        else:
            self.written = here

    def flows(self, outputs: int) -> Float[np.ndarray, "O S"]:
        """The greatest flow from each of the last outputs to each input."""
        # Loading it takes a tenth of the start of every command, and few ask for flow.
        from scipy.sparse import csr_array  # type: ignore[import-untyped]
        from scipy.sparse.csgraph import maximum_flow  # type: ignore[import-untyped]

        above, below, shares = (np.array(column) for column in zip(*self.links, strict=True))
        whole = np.minimum(np.rint(shares * SCALE), SCALE).astype(np.int32)
        graph = csr_array((whole, (above, below)), shape=(self.nodes, self.nodes))
        last = range(self.nodes - outputs, self.nodes)
        flows = [[maximum_flow(graph, source, sink).flow_value for sink in range(self.inputs)] for source in last]
        return np.array(flows, dtype=np.float32) / np.float32(SCALE)

    def _level(self, size: int) -> int:
        self.nodes += size
        return self.nodes - size

    def _link(self, above: int, below: int, shares: Float[Tensor, "Q K"]) -> None:
        self.links += [(above + row, below + column, share) for row, column, share in _entries(shares)]


def flow(subject: Subject, settings: FlowSettings) -> Attribution:
    """The maximum flow between each output and each input   (Abnar and Zuidema 2020)."""
    refuse_empty(subject)
    refuse_single(subject, "flow")
    _refuse_long(subject, settings.longest)
    maps = Maps(subject, settings.heads)
    found = flows(subject, steps(subject, maps, Blend(settings.residual, settings.residual)))
    return Attribution(
        method="flow",
        outputs=subject.outputs,
        inputs=subject.inputs,
        weights=found,
        source=f"{len(subject.looks)} layers, {settings.heads} of heads, residual {settings.residual}",
        check=maps.check,
        caveat=CAVEAT,
        probabilities=probabilities(maps.scores),
    )


def flows(subject: Subject, layers: Iterable[Step]) -> Float[np.ndarray, "O S"]:
    graph = Graph(len(subject.inputs))
    for step in layers:
        graph.add(step)
    return graph.flows(len(subject.outputs))


def _entries(shares: Float[Tensor, "Q K"]) -> Iterator[tuple[int, int, float]]:
    places = torch.nonzero(shares)
    for (row, column), share in zip(places.tolist(), shares[tuple(places.T)].tolist(), strict=True):
        yield row, column, share


def _refuse_long(subject: Subject, longest: int) -> None:
    length = len(subject.inputs) + len(subject.outputs)
    if length > longest:
        raise RequestError(
            f"Flow over {length} pieces of input and output takes too long; it is for {longest} or fewer. Use rollout, "
            "or set longest to wait."
        )
