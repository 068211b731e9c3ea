"""Pieces merged into words, on both sides of an explanation.

Along the inputs a word has the sum of its pieces: what went to a part of the word went to the word, and what speaks
against the output takes away from what speaks for it. Along the outputs a word has the mean of its pieces, so that
rows of attention still sum to what they did. Intervals are merged by the same sums, which bounds them from above
however the pieces hang together; probabilities are multiplied, one piece following the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
from jaxtyping import Float, Int

from regard.explain.attribution import Attribution, Axis, Span, Unit
from regard.text.spans import words_of


@dataclass(frozen=True)
class _Merged:
    """An axis of words, and the number of the first piece of each."""

    axis: Axis
    starts: Int[np.ndarray, " words"]

    def total(self, values: Float[np.ndarray, "... pieces"]) -> Float[np.ndarray, "... words"]:
        if not len(self.starts):
            return values
        return np.add.reduceat(values, self.starts, axis=-1)

    def mean(self, values: Float[np.ndarray, "... pieces"]) -> Float[np.ndarray, "... words"]:
        sizes = np.diff(self.starts, append=values.shape[-1])
        return self.total(values) / sizes

    def product(self, values: tuple[float, ...]) -> tuple[float, ...]:
        ends = [*self.starts.tolist(), len(values)]
        return tuple(float(np.prod(values[start:end])) for start, end in pairwise(ends))


def by_words(attribution: Attribution) -> Attribution:
    """The explanation with words for pieces; what is no text, and what has no place in a text, stays as it is."""
    outputs, inputs = _merged(attribution.outputs), _merged(attribution.inputs)

    def small(weights: Float[np.ndarray, "pieces pieces2"]) -> Float[np.ndarray, "words words2"]:
        return outputs.mean(inputs.total(weights.astype(np.float64)).T).T

    return replace(
        attribution,
        outputs=outputs.axis,
        inputs=inputs.axis,
        weights=small(attribution.weights),
        error=None if attribution.error is None else small(attribution.error),
        probabilities=None if attribution.probabilities is None else outputs.product(attribution.probabilities),
    )


def _merged(axis: Axis) -> _Merged:
    starts, units = [], []
    for run in _runs(axis):
        for start, unit in _words(axis, run):
            starts.append(start)
            units.append(unit)
    return _Merged(Axis(axis.text, tuple(units)), np.array(starts, dtype=np.int64))


def _runs(axis: Axis) -> Iterator[list[int]]:
    """Neighbours that are read in one go: words never reach over a separator, nor from one text into another."""
    turn, last, keys = 0, 0, []
    for unit in axis.units:
        single = unit.special or unit.span is None
        start = last if unit.span is None else unit.span[0]
        turn += single or start < last
        keys.append(turn)
        turn += single
        last = start
    for _, run in groupby(range(len(keys)), key=keys.__getitem__):
        yield list(run)


def _words(axis: Axis, run: list[int]) -> Iterator[tuple[int, Unit]]:
    """The words of a run, each with the number of its first piece."""
    spans = [span for number in run if not (unit := axis.units[number]).special and (span := unit.span)]
    if not spans:
        yield run[0], axis.units[run[0]]
        return
    begin = spans[0][0]
    text = axis.text[begin : max(end for _, end in spans)]
    for word in words_of(text, [(start - begin, end - begin) for start, end in spans]):
        if word.pieces:
            yield run[word.pieces[0]], Unit(word.text, _moved(word.span, begin))


def _moved(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by


def word_ranges(axis: Axis) -> list[tuple[int, int]]:
    """Which pieces of an axis make which word: the first of each, and the first that is not of it any more."""
    return list(pairwise([*_merged(axis).starts.tolist(), len(axis)]))
