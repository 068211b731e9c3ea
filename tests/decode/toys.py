"""Models small enough to know everything about, and the search over all outputs that beam search is held to."""

import itertools
import math
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import make
from regard.decode import LENGTHS, Request, SearchSettings, search
from regard.models import Vocabulary, build
from regard.models.protocols import Start, State

PAD, BEGIN, END = 0, 1, 2


class Own(NamedTuple):
    """What a hypothesis of the toy remembers: its last two pieces, how many there are, and what it looks at."""

    before: Tensor
    length: int


class Markov:
    """P(piece | source, the two pieces before it), from tables; noise of a batch's shape where asked.

    The table is chosen by the sum of the source's real pieces, so a source is the same wherever it stands.
    """

    def __init__(self, tables: Tensor, noise: float = 0.0) -> None:
        self.tables, self.noise = tables, noise
        size = tables.shape[-1]
        self.vocabulary = Vocabulary(size, size, begin=BEGIN, end=END)
        self.rows: list[int] = []
        self.places: list[int] = []

    def start(self, source: Tensor, real: Tensor | None = None) -> Start:
        mask = torch.ones_like(source, dtype=torch.bool) if real is None else real
        key = (source * mask).sum(1) % self.tables.shape[0]
        first = torch.full((len(source),), BEGIN)
        width = torch.full((len(source),), source.shape[1])
        return Start(State((key, width), Own(first, 0)), first)

    def step(self, pieces: Tensor, state: State) -> tuple[Tensor, State]:
        (key, width), own = state.shared, state.own
        self.rows.append(len(pieces))
        beams = len(pieces) // len(key)
        assert beams * len(key) == len(pieces)
        keys = key.repeat_interleave(beams)
        said = self.tables[keys, own.before, pieces]
        return said + self._noise(said, width), State(state.shared, Own(pieces, own.length + 1))

    def _noise(self, said: Tensor, width: Tensor) -> Tensor:
        """A different number for every shape, row and piece, at most `noise` in size; none of a text alone."""
        if not self.noise:
            return torch.zeros_like(said)
        rows, size = said.shape
        at = torch.arange(rows * size, dtype=torch.float64).view(rows, size)
        return (self.noise * torch.sin(at * 12.9898 + rows * 78.233 + float(width[0]) * 37.719)).to(said.dtype)


def random_tables(seed: int, size: int = 6, sources: int = 3, sharpness: float = 1.5) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return (sharpness * torch.randn(sources, size, size, size, generator=random)).log_softmax(-1)


def tied_tables(seed: int, size: int = 8, sources: int = 5) -> Tensor:
    """Few different probabilities, so that sums are often equal or nearly so, also at the margin's edge."""
    random = torch.Generator().manual_seed(seed)
    levels = torch.randint(0, 3, (sources, size, size, size), generator=random).double()
    near = torch.tensor([0.0, 0.0, 2e-7, -3e-7, 1e-4, -1e-4, 1.01e-4])
    nudges = near[torch.randint(0, len(near), levels.shape, generator=random)]
    return (levels.log_softmax(-1) + nudges).float()


def texts(sources: int, longest: int, size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Sources of different lengths, and which of their pieces are real."""
    random = torch.Generator().manual_seed(seed)
    source = torch.randint(3, size, (sources, longest), generator=random)
    lengths = torch.randint(1, longest + 1, (sources,), generator=random)
    lengths[0] = longest
    real = torch.arange(longest) < lengths[:, None]
    return source * real, real


def alone(source: Tensor, real: Tensor, row: int) -> Tensor:
    return source[row][real[row]][None]


def small_transformer(seed: int = 0, size: int = 12, sharpness: float = 3.0):
    torch.manual_seed(seed)
    settings = {
        "width": 16,
        "layers": 1,
        "attention": {"heads": 2},
        "feedforward": {"hidden": 16},
        "output_bias": True,
        "tied": "none",
    }
    model = build("transformer", settings, Vocabulary(size, size, BEGIN, END)).eval()
    with torch.no_grad():
        model.output.readout.weight.mul_(sharpness)
    return model


def small_recurrent(seed: int = 0, size: int = 12, sharpness: float = 6.0):
    """Reads both ways, so that what it reads last changes everything; its steps are the cheapest of all models."""
    torch.manual_seed(seed)
    settings = {"encoder": {"width": 16}, "decoder": {"width": 16}, "tied": "none"}
    model = build("recurrent", settings, Vocabulary(size, size, BEGIN, END)).eval()
    with torch.no_grad():
        model.output.readout.weight.mul_(sharpness)
    return model


def every_output(
    model: Markov, source: Tensor, longest: int, penalty: str | dict
) -> list[tuple[float, tuple[int, ...]]]:
    """All complete outputs of at most `longest` pieces, the end counted, best first."""
    length = make("length", LENGTHS, penalty)
    words = [piece for piece in range(model.vocabulary.target) if piece not in (PAD, BEGIN, END)]
    key = int(source.sum()) % model.tables.shape[0]
    found = []
    for count in range(longest):
        for pieces in itertools.product(words, repeat=count):
            steps = zip((BEGIN, BEGIN, *pieces), (BEGIN, *pieces), (*pieces, END), strict=False)
            total = math.fsum(float(model.tables[key, before, last, piece]) for before, last, piece in steps)
            found.append((length.score(total, count + 1), pieces))
    return sorted(found, key=lambda each: (-each[0], each[1]))


def outputs(model, source: Tensor, real: Tensor | None, settings: SearchSettings, longest: int = 6, **asked):
    """The n-best pieces of each source."""
    requests = [Request(longest=longest, **asked)] * len(source)
    found = search(model, source, real, settings, requests, banned=(PAD,))
    return [[each.pieces for each in hypotheses] for hypotheses in found]
