"""ONNX graphs run by ONNX Runtime: tensors in, tensors out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attention import At
from regard.convert.onnx import runtime
from regard.models import Start, State
from regard.models.protocols import first_pieces, repeated


class Graph:
    """One file as a function of named tensors."""

    def __init__(self, path: Path) -> None:
        library = runtime()
        options = library.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        # The graph is verified before it is kept; what is left to warn about are shapes it cannot foresee.
        options.log_severity_level = 3
        self._session: Any = library.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.wanted = [each.name for each in self._session.get_inputs()]

    def __call__(self, given: Mapping[str, Tensor]) -> list[Tensor]:
        feed = {name: given[name].detach().cpu().contiguous().numpy() for name in self.wanted}
        return [torch.from_numpy(found) for found in self._session.run(None, feed)]


class Encoding:
    """The forward pass of an encoder."""

    def __init__(self, path: Path, encoder: Any) -> None:
        self.graph, self.encoder = Graph(path), encoder

    def __call__(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
        at: At | None = None,
    ) -> Float[Tensor, "B T D"]:
        if at is not None:
            return self.encoder(pieces, real, segments, beside, at)
        # A graph does not look.
        self.encoder.embedding.position.check(range(pieces.shape[1]))
        given = {
            "pieces": pieces,
            "real": torch.ones_like(pieces, dtype=torch.bool) if real is None else real,
            "segments": torch.zeros_like(pieces) if segments is None else segments,
            **({} if beside is None else {"beside": beside}),
        }
        return self.graph(given)[0].to(pieces.device)


class Stepping:
    """A decoder's two graphs as start and step; what is kept between steps are the graphs' own tensors."""

    def __init__(self, folder: Path, described: Mapping[str, Any], model: Any) -> None:
        self.vocabulary, self.prompted = model.vocabulary, described["kind"] == "language"
        self.position = (model if self.prompted else model.encoder).embedding.position
        self.shared, self.own = list(described["shared"]), list(described["own"])
        self._start, self._step = Graph(folder / "start.onnx"), Graph(folder / "step.onnx")

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        known = torch.ones_like(source, dtype=torch.bool) if real is None else real
        if not self.prompted:
            first = first_pieces(source.shape[0], self.vocabulary.begin, source.device)
            return Start(self._begun(source, known), first)
        last_B1 = known.sum(1, keepdim=True).clamp(min=1) - 1
        first = source.gather(1, last_B1)[:, 0].where(known.any(1), self.vocabulary.begin)
        # All but the last piece of each is read; where there is no other, one that does not count.
        before = torch.arange(source.shape[1], device=source.device) < last_B1
        size = max(source.shape[1] - 1, 1)
        return Start(self._begun(source[:, :size], before[:, :size]), first)

    def _begun(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"]) -> State:
        self.position.check(range(source.shape[1]))
        found = self._start({"source": source, "real": real})
        count = len(self.shared)
        return State(tuple(found[:count]), tuple(found[count:]))

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        shared: Sequence[Tensor] = state.shared
        beams = len(pieces) // len(shared[0]) if shared else 1
        rows = [repeated(tensor, beams) for tensor in shared]
        given = dict(zip((*self.shared, *self.own), (*rows, *state.own), strict=True))
        said_RV, *own = self._step({"pieces": pieces, **given})
        return said_RV.to(pieces.device), State(state.shared, tuple(own))
