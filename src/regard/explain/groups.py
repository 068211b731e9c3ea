"""What is taken away together when an input is changed: pieces, words, or spans of words; never what is special."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from pydantic import PositiveInt

from regard.config import Settings
from regard.errors import RequestError
from regard.explain.attribution import Attribution, Axis, Unit
from regard.explain.words import by_words

HOW = {"blank": "replaced by the blank piece", "remove": "taken out, what is left moving together"}


class PerturbationSettings(Settings):
    """What is taken away from the input, and how."""

    of: Literal["pieces", "words", "spans"] = "words"
    # How many words a span has.
    size: PositiveInt = 3
    # blank: the places stay. remove: the text gets shorter, so outputs that belong to a place (tags, answers) move.
    how: Literal["blank", "remove"] = "blank"
    # How many pieces, inputs and outputs together, are run through the model at once.
    tokens: PositiveInt = 8192

    @property
    def said(self) -> str:
        """These settings in words."""
        return f"{f'spans of {self.size} words' if self.of == 'spans' else self.of} {HOW[self.how]}"


@dataclass(frozen=True)
class Groups:
    """The groups of an input: G of them, on an axis of I units that also has the special pieces."""

    axis: Axis
    # The unit of the axis that each piece belongs to.
    units: Int[np.ndarray, " S"]

    @cached_property
    def places(self) -> Int[np.ndarray, " G"]:
        """Where each group stands on the axis."""
        return np.flatnonzero([not unit.special for unit in self.axis.units])

    @cached_property
    def home(self) -> Int[np.ndarray, " S"]:
        """The group of each piece; -1 is special."""
        group_I = np.full(len(self.axis), -1)
        group_I[self.places] = np.arange(len(self))
        return group_I[self.units]

    def __len__(self) -> int:
        return len(self.places)

    def spread(self, values: Float[np.ndarray, "O G"]) -> Float[np.ndarray, "O I"]:
        """Values of the groups along the axis; 0 at what is special, which is never changed."""
        weights_OI = np.zeros((len(values), len(self.axis)))
        weights_OI[:, self.places] = values
        return weights_OI

    def runs(self) -> Iterator[list[int]]:
        """The numbers of the groups that stand together: nothing special between them, and all of one text."""
        apart = [b > a + 1 or _apart(self.axis.units[a], self.axis.units[b]) for a, b in pairwise(self.places)]
        yield from (run.tolist() for run in np.split(np.arange(len(self)), np.flatnonzero(apart) + 1))


def groups(inputs: Axis, settings: PerturbationSettings) -> Groups:
    """The groups of these inputs; an error where there is nothing to take away."""
    if not inputs.text.strip():
        raise RequestError("The text is empty, so nothing can be taken away from it; give a text of at least one word.")
    if all(unit.special for unit in inputs.units):
        raise RequestError(
            f"All {len(inputs)} pieces of the input are special and cannot be taken away; give a text with words in it."
        )
    if settings.of == "pieces":
        return Groups(inputs, np.arange(len(inputs)))
    words = _words(inputs)
    return words if settings.of == "words" else _spans(words, settings.size)


def _words(inputs: Axis) -> Groups:
    """Words as every explanation has them; one for each piece, so that a word's sum is the number of its pieces."""
    ones = Attribution("", Axis("", (Unit(""),)), inputs, np.ones((1, len(inputs))))
    merged = by_words(ones)
    sizes_I = merged.weights[0].astype(int)
    return Groups(merged.inputs, np.repeat(np.arange(len(sizes_I)), sizes_I))


def _spans(words: Groups, size: int) -> Groups:
    """`size` words at a time; what is special stays as it is."""
    first_I = np.arange(len(words.axis))
    for run in words.runs():
        for start in range(0, len(run), size):
            places = words.places[run[start : start + size]]
            first_I[places] = places[0]
    firsts, unit_I = np.unique(first_I, return_inverse=True)
    units = tuple(_joined(words.axis, np.flatnonzero(first_I == first).tolist()) for first in firsts)
    return Groups(Axis(words.axis.text, units), unit_I[words.units])


def _joined(axis: Axis, places: Sequence[int]) -> Unit:
    """Words that stand together as one unit."""
    first, last = axis.units[places[0]], axis.units[places[-1]]
    if len(places) == 1 or first.span is None or last.span is None:
        return first
    span = first.span[0], last.span[1]
    return Unit(axis.text[slice(*span)], span)


def _apart(before: Unit, after: Unit) -> bool:
    """Whether no span of the text reaches over both."""
    return before.span is None or after.span is None or after.span[0] < before.span[0]
