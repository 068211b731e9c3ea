"""Writing while reading: wait-k, hard monotonic attention, and how far behind the reader the writer is."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.coverage import Looking
from regard.decode.hypotheses import Pieces
from regard.decode.requests import unwritten
from regard.errors import RequestError
from regard.models.protocols import Decoder


@dataclass(frozen=True)
class Interpreted:
    """An output, how much of the source had been read when each of its pieces was written, and whether it ended."""

    pieces: Pieces
    reads: tuple[int, ...]
    complete: bool


@dataclass(frozen=True)
class Latency:
    """How late an output was: in units of the source behind an ideal interpreter, and as a share of the source."""

    average_lagging: float
    average_proportion: float


@torch.no_grad()
def wait_k(
    model: Decoder,
    source: Int[Tensor, "1 S"],
    boundaries: Sequence[int],
    k: int,
    longest: int,
    banned: Collection[int] = (),
) -> Interpreted:
    """Piece t is written once g(t) = min(k + t - 1, units of the source) units were read   (Ma et al. 2019, sec. 3).

    `boundaries` tells how many source pieces stand after each unit; the last is all of them. What was read is encoded
    anew after each read, since an encoder that looks both ways changes its mind about everything, and what was written
    is replayed. The policy writes a piece for every read, so the end waits until all of the source was read.
    """
    _check_boundaries(source, boundaries, k)
    units = min(k, len(boundaries))
    writer = Writer(model, source[:, : boundaries[units - 1]], banned)
    while len(writer.pieces) < longest and not writer.complete:
        writer.write(writer.step(), units, may_end=units == len(boundaries))
        if units < len(boundaries):
            units += 1
            writer.read(source[:, : boundaries[units - 1]])
    return writer.interpreted()


@torch.no_grad()
def monotonic(
    model: Decoder, source: Int[Tensor, "1 S"], looking: Looking, longest: int, banned: Collection[int] = ()
) -> Interpreted:
    """Greedy writing where attention points at one source piece at a time and never goes back   (Raffel et al. 2017).

    Read counts source pieces: the furthest the weights have pointed to so far. It says what a writer would have had to
    wait for, provided that the encoder only looks back; the source itself is encoded whole.
    """
    writer, furthest = Writer(model, source, banned), 0
    while len(writer.pieces) < longest and not writer.complete:
        following_V = writer.step()
        furthest = max(furthest, _pointed(looking.last()))
        writer.write(following_V, furthest)
    return writer.interpreted()


def latency(reads: Sequence[int], source_units: int) -> Latency:
    """Average lagging (Ma et al. 2019) and average proportion (Cho and Esipova 2016).

    With g(t) units of |x| read before piece t of |y| was written, and tau the first t with g(t) = |x|:

        lagging    = 1/tau sum_{t <= tau} (g(t) - (t - 1) |x| / |y|)
        proportion = 1/(|x| |y|) sum_t g(t)

    Of an output without pieces nothing was written before all was read: |x| and 1.
    """
    if source_units < 1 or any(not 0 <= read <= source_units for read in reads):
        raise RequestError(
            f"Reads of {list(reads)} in a source of {source_units} units; give 0 to {source_units} each."
        )
    if not reads:
        return Latency(float(source_units), 1.0)
    cut = next((t for t, read in enumerate(reads, 1) if read == source_units), len(reads))
    pace = source_units / len(reads)
    lagging = sum(read - t * pace for t, read in enumerate(reads[:cut])) / cut
    return Latency(lagging, sum(reads) / (source_units * len(reads)))


class Writer:
    """Writes the likeliest piece, one at a time, and notes what had been read."""

    def __init__(self, model: Decoder, source: Int[Tensor, "1 S"], banned: Collection[int]) -> None:
        self.model, self.banned = model, unwritten(banned, model.vocabulary)
        self.pieces: list[int] = []
        self.reads: list[int] = []
        self.complete = False
        self.state, self.last = model.start(source, None)

    def read(self, source: Int[Tensor, "1 S"]) -> None:
        """Encode what was read by now, and replay what was written."""
        self.state, self.last = self.model.start(source, None)
        for piece in self.pieces:
            self.step()
            self.last = torch.full_like(self.last, piece)

    def step(self) -> Float[Tensor, " V"]:
        """What may follow the last piece."""
        said_1V, self.state = self.model.step(self.last, self.state)
        return said_1V[0]

    def write(self, following: Float[Tensor, " V"], read: int, may_end: bool = True) -> None:
        """The likeliest piece, of equals the lower number; or the end."""
        never = self.banned if may_end else [*self.banned, self.model.vocabulary.end]
        scores_V = following.index_fill(0, torch.tensor(never, dtype=torch.long, device=following.device), -torch.inf)
        piece = int((scores_V == scores_V.max()).nonzero()[0])
        self.complete = piece == self.model.vocabulary.end
        if not self.complete:
            self.pieces.append(piece)
            self.reads.append(read)
            self.last = torch.full_like(self.last, piece)

    def interpreted(self) -> Interpreted:
        return Interpreted(tuple(self.pieces), tuple(self.reads), self.complete)


def _pointed(weights: Float[Tensor, "1 S"]) -> int:
    """How many source pieces lie up to the one pointed at; all where none is, for then all were passed by."""
    return int(weights[0].argmax()) + 1 if bool(weights.max() > 0) else weights.shape[1]


def _check_boundaries(source: Int[Tensor, "1 S"], boundaries: Sequence[int], k: int) -> None:
    rising = all(a < b for a, b in zip([0, *boundaries], boundaries, strict=False))
    if k < 1 or not boundaries or not rising or boundaries[-1] != source.shape[1]:
        raise RequestError(
            f"k = {k} and boundaries {list(boundaries)} of a source of {source.shape[1]} pieces; give k of 1 or more "
            "and rising numbers of pieces of which the last is all."
        )
