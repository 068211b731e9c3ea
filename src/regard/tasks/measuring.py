"""How likely a language model finds texts: every piece predicted once, from as much before it as it can be shown.

A model that looks back over a window reads overlapping windows; of each only what the one before did not have is
counted, so every piece but the first few has at least `context` pieces before it. A recurrent one carries its state on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from regard.metrics import Likelihood
from regard.models import Decoded
from regard.nn import IGNORE
from regard.nn.recurrent import Recurrent
from regard.tasks.blocks import COLUMN, Framing
from regard.tasks.grouping import GroupSettings, groups

# How many pieces a recurrent model reads at once; its state goes on from there.
STRETCH = 512


Pieces = Int64[np.ndarray, " _"]
Costs = Float[np.ndarray, " _"]


class Window(NamedTuple):
    """Pieces [start, end) of a segment; those from `counted` on are predicted."""

    segment: int
    start: int
    counted: int
    end: int


@dataclass(frozen=True)
class Measuring:
    """Rows in, their likelihoods out. `window` pieces are read at once, the least before each piece is `context`."""

    model: Any
    framing: Framing
    window: int
    context: int
    batch: GroupSettings

    def __call__(self, rows: Iterable[Mapping[str, str]]) -> Iterator[Likelihood]:
        texts = [row[COLUMN] for row in rows]
        ids = [np.array(cut.ids, np.int64) for cut in self.framing.tokenizer.encode_many(texts)]
        asked = [np.concatenate([one, np.array(self.framing.closing, np.int64)]) for one in ids]
        costs = iter(self.costs(asked))
        ends = len(self.framing.closing)
        for text, wanted in zip(texts, asked, strict=True):
            nll = float(np.sum(next(costs)))
            yield Likelihood(nll, len(wanted), len(text.split()) + ends, len(text) + ends, bool(ends))

    def costs(self, asked: Sequence[Pieces]) -> list[Costs]:
        """-log p of each piece of each row: rows by themselves, or one after the other as one text."""
        first = np.array(self.framing.opening or self._before, np.int64)
        rows = [np.concatenate([first, row]) for row in asked]
        if self.framing.settings.within:
            return [found[len(first) :] for found in self._segments(rows)]
        if not self.framing.opening:
            rows[1:] = asked[1:]
        (found,) = self._segments([np.concatenate(rows)]) if rows else [np.empty(0)]
        parts = np.split(found, np.cumsum([len(row) for row in rows])[:-1])
        return [part[len(part) - len(row) :] for part, row in zip(parts, asked, strict=True)]

    @property
    def _before(self) -> tuple[int, ...]:
        """What the first row of a stream follows, where rows do not begin with a piece of their own."""
        return (self.framing.tokenizer.end,) if self.framing.settings.ends else ()

    def _segments(self, segments: Sequence[Pieces]) -> list[Costs]:
        """-log p of each piece of each segment; a first piece, which follows nothing, is one of all alike."""
        costs = [np.full(len(one), np.log(self.framing.tokenizer.size)) for one in segments]
        walk = self._carried if carries(self.model) else self._windowed
        self.model.eval()
        with torch.inference_mode():
            for window, found in walk(segments):
                costs[window.segment][window.counted : window.end] = found
        return costs

    def _windowed(self, segments: Sequence[Pieces]) -> Iterator[tuple[Window, Costs]]:
        lengths = [len(segment) for segment in segments]
        everything = [one for number, length in enumerate(lengths) for one in self._windows(number, length)]
        for group in groups([one.end - one.start for one in everything], self.batch):
            chosen = [everything[number] for number in group]
            given = [segments[one.segment][one.start : one.end] for one in chosen]
            pieces_BT, wanted_BT = rectangles(given, self.framing.tokenizer.padding, self.device)
            found_BT = told(self.model, self.model(pieces_BT), wanted_BT)
            for one, row in zip(chosen, found_BT, strict=True):
                yield one, row[one.counted - one.start - 1 : one.end - one.start - 1]

    def _windows(self, number: int, length: int) -> Iterator[Window]:
        """The windows of a segment: each piece but the first is counted in one of them."""
        counted = 1
        while counted < length:
            start = max(0, counted - self.context) if counted > 1 else 0
            end = min(start + self.window + 1, length)
            yield Window(number, start, counted, end)
            counted = end

    def _carried(self, segments: Sequence[Pieces]) -> Iterator[tuple[Window, Costs]]:
        for group in groups([len(segment) for segment in segments], self.batch):
            pieces_BT, wanted_BT = rectangles([segments[number] for number in group], 0, self.device)
            carry = None
            for start in range(0, pieces_BT.shape[1], STRETCH):
                reach = slice(start, start + STRETCH)
                states, carry = self.model.decoder(embedded(self.model, pieces_BT[:, reach]), None, carry)
                found_BT = told(self.model, Decoded(states), wanted_BT[:, reach])
                for number, row in zip(group, found_BT, strict=True):
                    end = min(len(segments[number]), start + 1 + len(row))
                    if start + 1 < end:
                        yield Window(number, start, start + 1, end), row[: end - start - 1]

    @property
    def device(self) -> torch.device:
        found: torch.device = next(self.model.parameters()).device
        return found


def carries(model: Any) -> bool:
    """Whether a model keeps all it has read in a state of fixed size, so that no text is too long for it."""
    return isinstance(getattr(model, "decoder", None), Recurrent)


def embedded(model: Any, pieces: Tensor) -> Tensor:
    found: Tensor = model.embedding(pieces, range(pieces.shape[1]))
    return found


def rectangles(rows: Sequence[Pieces], padding: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """What is read of each row, and what follows each piece of it."""
    longest = max(max(map(len, rows)) - 1, 1)
    read, wanted = np.full((len(rows), longest), padding), np.full((len(rows), longest), IGNORE)
    for number, row in enumerate(rows):
        size = max(len(row) - 1, 0)
        read[number, :size], wanted[number, :size] = row[:-1], row[1:]
    return torch.from_numpy(read).to(device), torch.from_numpy(wanted).to(device)


def told(model: Any, decoded: Decoded, wanted: Tensor) -> Float[np.ndarray, "B T"]:
    """-log p of what is wanted, row by row, so that only the probabilities of one are held."""
    rows = []
    for hidden_TD, wanted_T in zip(decoded.hidden, wanted, strict=True):
        log_TV = model.output.log_probabilities(Decoded(hidden_TD[None]))[0]
        rows.append(-log_TV.gather(1, wanted_T.clamp(min=0)[:, None])[:, 0].double().cpu().numpy())
    return np.stack(rows)
