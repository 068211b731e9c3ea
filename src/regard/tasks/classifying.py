"""How texts are classified: cut into pieces, read in batches by length, windows of one text put together again.

text -> pieces -> windows that fit -> probabilities of each -> their mean, weighted by pieces -> Classified
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from regard.attention import Record, record
from regard.metrics.labels import SEPARATOR
from regard.tasks import reading
from regard.tasks.grouping import blocks, for_reading, in_groups
from regard.tasks.labelling import Labels
from regard.tasks.looking import is_ensemble, layer, unseen
from regard.tasks.reading import LongSettings, Reading
from regard.tasks.results import plain
from regard.text import Cut, words_of

# Where a choice hangs on less than `CLOSE`, the text is read again alone and unpadded, which no batch can change; what
# then differs by less than `TIE` counts as equal, and the label that comes first has it.
CLOSE, TIE = 1e-4, 1e-6
WEIGHTS = "head.pooling.*.weights"


class ClassifySettings(LongSettings):
    """How results are made; `threshold` is how probable each of several labels has to be."""

    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    # How much attention pooling gives to every word.
    weights: bool = False


class WordWeight(NamedTuple):
    """A word by its characters [start, end), and its share of the attention."""

    span: tuple[int, int]
    weight: float


@dataclass(frozen=True)
class Classified:
    """The label of a text, or several separated by `|`, or none; `score` is how probable the model holds just that."""

    text: str
    score: float
    status: tuple[str, ...]
    probabilities: dict[str, float]
    # Where asked for; what is missing to 1 lies on pieces that are no text, such as the end.
    weights: tuple[WordWeight, ...] | None = None

    def plain(self) -> dict[str, Any]:
        return plain(self)


@dataclass(frozen=True)
class Work:
    """A text on its way, and the windows of pieces it is read in."""

    text: str
    cut: Cut
    windows: list[tuple[int, int]]
    status: tuple[str, ...]

    @property
    def shares(self) -> Float[np.ndarray, " windows"]:
        """How much each window counts: by its pieces."""
        sizes = np.array([end - start for start, end in self.windows], dtype=np.float64)
        return sizes / sizes.sum()


class Seen(NamedTuple):
    """What the model makes of one window: the probability of each class, and the weight of each piece if asked for."""

    probabilities: Float[np.ndarray, " C"]
    weights: Float[np.ndarray, " T"] | None


@dataclass(frozen=True)
class Classifying:
    """A model with what it needs to classify texts, of which it reads at most `longest` pieces at a time."""

    reading: Reading
    labels: Labels
    model: Any
    settings: ClassifySettings
    longest: int | None

    def __call__(self, texts: Iterable[str]) -> Iterator[Classified]:
        """A result for each text, in order."""
        return self._each(texts, self.look, self.classified)

    def vectors(self, texts: Iterable[str]) -> Iterator[Float[Tensor, " D"]]:
        """The vector each text is classified by; zeros for a text without pieces."""
        return self._each(texts, self.pooled, self.vector)

    def _each(
        self,
        texts: Iterable[str],
        run: Callable[[list[list[int]]], Sequence[Any]],
        whole: Callable[[Work, list[Any]], Any],
    ) -> Iterator[Any]:
        for block in blocks(texts):
            cuts = self.reading.tokenizer.encode_many(block)
            works = [self.work(text, cut) for text, cut in zip(block, cuts, strict=True)]
            inputs = [pieces for work in works for pieces in self.inputs(work)]
            made = iter(in_groups(inputs, len, for_reading(self.settings, self.device), run))
            for work in works:
                yield whole(work, list(islice(made, len(work.windows))))

    def work(self, text: str, cut: Cut) -> Work:
        length = len(cut) if text.strip() else 0
        room = max(length, 1) if self.longest is None else max(self.longest - self.reading.around, 1)
        windows = reading.chosen(length, room, self.settings) if length else []
        return Work(text, cut, windows, reading.status(length, room, self.settings))

    def inputs(self, work: Work) -> list[list[int]]:
        ids = work.cut.ids
        return [self.reading.wrapped(ids[start:end]) for start, end in work.windows]

    @torch.inference_mode()
    def look(self, inputs: list[list[int]]) -> list[Seen]:
        """What the model makes of each of these windows, read together."""
        self.model.eval()
        pieces, real = self.rectangle(inputs)
        with self.watching() as seen:
            probabilities_BC = self.model.probabilities(self.model(pieces, real))
        rows = probabilities_BC.double().cpu().numpy()
        if not self.settings.weights:
            return [Seen(row, None) for row in rows]
        weights_BT = layer(seen)[-1][:, 0].double().cpu().numpy()
        return [Seen(row, weights) for row, weights in zip(rows, weights_BT, strict=True)]

    def watching(self) -> AbstractContextManager[list[Record]]:
        if not self.settings.weights:
            return nullcontext([])
        if is_ensemble(self.model):
            raise unseen(self.model, "")
        return record(self.model, WEIGHTS)

    @torch.inference_mode()
    def pooled(self, inputs: list[list[int]]) -> list[Float[Tensor, " D"]]:
        self.model.eval()
        pieces, real = self.rectangle(inputs)
        return list(self.model.head.pooling(self.model.encoder(pieces, real), real).cpu())

    def rectangle(self, inputs: list[list[int]]) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
        return reading.rectangle(inputs, self.reading.tokenizer.padding, self.device)

    @property
    def device(self) -> torch.device:
        found: torch.device = next(self.model.parameters()).device
        return found

    def classified(self, work: Work, seen: list[Seen]) -> Classified:
        if not seen:
            return Classified("", 0.0, work.status, {}, () if self.settings.weights else None)
        if self.close(mean(work, seen)):
            seen = [self.look([pieces])[0] for pieces in self.inputs(work)]
        found = mean(work, seen)
        chosen = self.chosen(found)
        return Classified(
            SEPARATOR.join(self.labels.names[place] for place in chosen),
            self.score(found, chosen),
            work.status,
            dict(zip(self.labels.names, found.tolist(), strict=True)),
            self.weights(work, seen) if self.settings.weights else None,
        )

    def close(self, found: Float[np.ndarray, " C"]) -> bool:
        """Whether rounding could decide."""
        if self.labels.several:
            return bool((np.abs(found - self.settings.threshold) < CLOSE).any())
        return len(found) > 1 and bool(np.subtract(*np.sort(found)[:-3:-1]) < CLOSE)

    def chosen(self, found: Float[np.ndarray, " C"]) -> list[int]:
        """The places of the labels that are given."""
        if self.labels.several:
            return np.flatnonzero(found >= self.settings.threshold - TIE).tolist()
        return [int(np.argmax(found >= found.max() - TIE))]

    def score(self, found: Float[np.ndarray, " C"], chosen: list[int]) -> float:
        """The probability of the label; of several, that it is these and no others."""
        if not self.labels.several:
            return float(found[chosen[0]])
        given = np.isin(np.arange(len(found)), chosen)
        return float(np.where(given, found, 1 - found).prod())

    def weights(self, work: Work, seen: list[Seen]) -> tuple[WordWeight, ...]:
        """The share of each word, its pieces and all windows together."""
        first, of_piece = len(self.reading.tokenizer.opening), np.zeros(len(work.cut))
        for (start, end), share, one in zip(work.windows, work.shares, seen, strict=True):
            assert one.weights is not None
            of_piece[start:end] += share * one.weights[first : first + end - start]
        words = words_of(work.text, work.cut.spans)
        return tuple(WordWeight(word.span, float(of_piece[list(word.pieces)].sum())) for word in words)

    def vector(self, work: Work, vectors: list[Float[Tensor, " D"]]) -> Float[Tensor, " D"]:
        if work.status == ("refused",):
            raise reading.too_long(work.text, len(work.cut), self.longest)
        if not vectors:
            return torch.zeros(self.width)
        return torch.stack(vectors).mul(torch.from_numpy(work.shares).float()[:, None]).sum(0)

    @cached_property
    def width(self) -> int:
        return int(self.model.encoder.width)


def mean(work: Work, seen: Sequence[Seen]) -> Float[np.ndarray, " C"]:
    """The probabilities of a text read in one or several windows."""
    return work.shares @ np.stack([one.probabilities for one in seen])
