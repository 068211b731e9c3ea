"""How likely a model finds the lines it is given: perplexity and its kin."""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from regard.metrics.metric import Metric, References, stated

Unit = Literal["piece", "word", "character"]


@dataclass(frozen=True)
class Likelihood:
    """What the model makes of one line: -log p in nats of all of it, and how many units that is.

    Where its `end` has been predicted too, that is in `nll` and counts as one piece, one word and one character.
    """

    nll: float
    pieces: int
    words: int
    characters: int
    end: bool = True


class PerUnit(Metric):
    """Nats per unit over all lines; each unit weighs the same, not each line."""

    higher_is_better = False
    of = "likelihood"
    unit: ClassVar[Unit]
    scale: ClassVar[str] = "nats"
    # Whether the end of a line is among the units.
    ends: bool = True

    def of_lines(self, lines: Sequence[Likelihood]) -> "PerUnit":
        """The same metric, signed as these lines were counted."""
        found = copy(self)
        found.ends = all(line.end for line in lines)
        return found

    def units(self, line: Likelihood) -> int:
        return {"piece": line.pieces, "word": line.words, "character": line.characters}[self.unit]

    def statistics(self, outputs: Sequence[Likelihood], references: References) -> Float[np.ndarray, "lines columns"]:
        return np.array([(line.nll, self.units(line)) for line in outputs], dtype=np.float64)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return self.scaled(_rate(float(totals[0]), float(totals[1])))

    def scaled(self, nats: float) -> float:
        """The value for so many nats per unit."""
        return nats

    def signature(self, references: References) -> str:
        return stated(unit=self.unit, scale=self.scale, ends="counted" if self.ends else "none", version="regard.1")


class Perplexity(PerUnit):
    """exp(nats per piece): comparable between models with the same pieces only."""

    name = "perplexity"
    unit: ClassVar[Unit] = "piece"
    scale = "exp"

    def scaled(self, nats: float) -> float:
        try:
            return math.exp(nats)
        except OverflowError:
            return math.inf


class WordPerplexity(Perplexity):
    """exp(nats per word), whatever the pieces were: comparable between models of the same text."""

    name = "word_perplexity"
    unit = "word"


class NatsPerCharacter(PerUnit):
    """Nats per character."""

    name = "nats_per_character"
    unit = "character"


class BitsPerCharacter(PerUnit):
    """Bits per character."""

    name = "bits_per_character"
    unit = "character"
    scale = "bits"

    def scaled(self, nats: float) -> float:
        return nats / math.log(2)


def _rate(nll: float, units: float) -> float:
    """nll / units; of no units nothing, unless they cost something."""
    if units:
        return nll / units
    return math.inf if nll else 0.0
