"""How texts are tagged: words -> windows that fit -> emissions -> one line of them a text -> the best tags together.

Of a word that stands in several windows the emissions of the one count in which it is farthest from an edge; the CRF
then runs over the whole text. It runs in double precision, and where the best tags hang on less than MARGIN the text
is read again by itself, so that no neighbour in a batch can tip them.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.nn import CRF
from regard.tasks import reading
from regard.tasks.grouping import GroupSettings, blocks, for_reading, in_groups
from regard.tasks.reading import LongSettings
from regard.tasks.tagging_reading import ENDLESS, Sentence, WordReading
from regard.tasks.tagging_results import Tagged, tagged
from regard.tasks.tagging_rows import words_of
from regard.tasks.tagging_windows import Window, homes, windows
from regard.tasks.tagging_words import Cutting, Word

MARGIN = 1e-3


@dataclass(frozen=True)
class Work:
    """A row on its way: its words, how they are read, the windows of words."""

    text: str
    words: list[Word]
    sentence: Sentence
    windows: list[Window]

    @property
    def parts(self) -> list[Sentence]:
        return [self.sentence.part(*window) for window in self.windows]

    def status(self, room: int, settings: LongSettings) -> tuple[Any, ...]:
        return reading.status(sum(self.sentence.sizes), room, settings)


@dataclass(frozen=True)
class Taking:
    """Rows in, words in windows out."""

    words: WordReading
    settings: LongSettings
    cutting: Cutting
    # The most pieces a model can read, what opens and closes a text included.
    longest: int | None = None

    @property
    def room(self) -> int:
        """The most pieces of a text that are read at once."""
        return max((self.longest or ENDLESS) - self.words.reading.around, 1)

    def works(self, rows: Sequence[Mapping[str, str]]) -> list[Work]:
        cut = [words_of(row, self.cutting) for row in rows]
        found = self.words.read([[word.text for word in words] for words in cut], self.room)
        return [
            Work(row["text"], words, one, windows(one.sizes, self.room, self.settings))
            for row, words, one in zip(rows, cut, found, strict=True)
        ]


@dataclass(frozen=True)
class Decided:
    """The number of each tag, its probability, and by how much these tags are better than any others."""

    tags: list[int]
    probabilities: list[float]
    margin: float


@dataclass(frozen=True)
class Tagging:
    """Rows in, tagged texts out, in order."""

    taking: Taking
    tags: tuple[str, ...]
    # A Tagger.
    model: Any

    def __call__(self, rows: Iterable[Mapping[str, str]]) -> Iterator[Tagged]:
        for block in blocks(rows):
            works = self.taking.works(block)
            yield from map(self.whole, works, self.decided(works))

    def decided(self, works: list[Work]) -> list[Decided]:
        """The tags of every text, in order; those that hang on rounding decided alone."""
        settings = self.taking.settings
        together = for_reading(settings, self.device)
        coming = iter(self.emissions([part for work in works for part in work.parts], together))
        lines = [self.line(work, [next(coming) for _ in work.windows]) for work in works]
        found = in_groups(lines, len, settings, self.best)
        return [self.alone(work) if one.margin < MARGIN else one for work, one in zip(works, found, strict=True)]

    def alone(self, work: Work) -> Decided:
        """The tags of a text whose windows are read one by one, in no rectangle but their own."""
        return self.best([self.line(work, self.emissions(work.parts, GroupSettings(rows=1)))])[0]

    def emissions(self, parts: list[Sentence], settings: GroupSettings) -> list[Float[Tensor, "_ C"]]:
        return in_groups(parts, lambda part: sum(part.sizes), settings, self.emitted)

    def emitted(self, parts: list[Sentence]) -> list[Float[Tensor, "_ C"]]:
        with torch.inference_mode():
            emissions_BWC = self.taking.words.tensors(parts, self.device).through(self.model.eval())
        return [row[: len(part.pieces)].double() for row, part in zip(emissions_BWC, parts, strict=True)]

    def line(self, work: Work, parts: list[Float[Tensor, "_ C"]]) -> Float[Tensor, "W C"]:
        """The emissions of all words of a text that were read."""
        if not parts:
            return torch.zeros(0, len(self.tags), dtype=torch.float64, device=self.device)
        return torch.stack([parts[window][place] for window, place in homes(work.windows).values()])

    def best(self, lines: list[Float[Tensor, "_ C"]]) -> list[Decided]:
        """The best tags of each line of emissions."""
        if not max(map(len, lines)):
            return [Decided([], [], inf) for _ in lines]
        emissions_BWC = pad_sequence(lines, batch_first=True)
        lengths_B1 = torch.tensor([[len(line)] for line in lines], device=self.device)
        real_BW = torch.arange(emissions_BWC.shape[1], device=self.device) < lengths_B1
        with torch.inference_mode():
            tags_BW, _ = self.crf.decode(emissions_BWC, real_BW)
            chances_BWC, margins_B = (
                self.crf.marginals(emissions_BWC, real_BW),
                self.crf.margins(emissions_BWC, real_BW),
            )
        chances_BW = chances_BWC.gather(2, tags_BW.clamp(min=0)[..., None])[..., 0]
        rows = zip(map(len, lines), tags_BW.tolist(), chances_BW.tolist(), margins_B.tolist(), strict=True)
        return [Decided(tags[:length], chances[:length], margin) for length, tags, chances, margin in rows]

    def vectors(self, rows: Iterable[Mapping[str, str]]) -> Iterator[Float[Tensor, " D"]]:
        """The mean of the states of each text's words, window by window; zeros where there is none."""
        for block in blocks(rows):
            works = self.taking.works(block)
            parts = [part for work in works for part in work.parts]
            coming = iter(in_groups(parts, lambda part: sum(part.sizes), self.taking.settings, self.summed))
            yield from (self.mean(work, [next(coming) for _ in work.windows]) for work in works)

    def mean(self, work: Work, sums: list[Float[Tensor, " D"]]) -> Float[Tensor, " D"]:
        """The vector of a text by the sums of its windows."""
        if work.status(self.taking.room, self.taking.settings) == ("refused",):
            raise reading.too_long(work.text, sum(work.sentence.sizes), self.taking.longest)
        words = sum(end - start for start, end in work.windows)
        return torch.stack(sums).sum(0) / words if sums else torch.zeros(self.model.encoder.width)

    def summed(self, parts: list[Sentence]) -> list[Float[Tensor, " D"]]:
        with torch.inference_mode():
            states_BWD = self.taking.words.tensors(parts, self.device).through(self.model.eval().states)
        return list(states_BWD.sum(1).cpu())

    @cached_property
    def crf(self) -> CRF:
        """The model's CRF in double precision; without one, one that knows of no neighbours decides the same."""
        own = self.model.head.crf
        made = CRF(len(self.tags)) if own is None else copy.deepcopy(own)
        return made.double().to(self.device)

    @property
    def device(self) -> torch.device:
        found: torch.device = next(self.model.parameters()).device
        return found

    def whole(self, work: Work, decided: Decided) -> Tagged:
        """A text as it is given out."""
        tags = [self.tags[number] for number in decided.tags]
        status = work.status(self.taking.room, self.taking.settings)
        return tagged(work.text, work.words, list(homes(work.windows)), tags, decided.probabilities, status)
