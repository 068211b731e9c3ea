"""Which words of a source the words of an output come from, by the attention of the model that wrote it.

The output is read once more in a single pass, so the weights are those of the hypothesis that survived the search, and
they pass their own check.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from regard.attention import record
from regard.decode import Hypothesis
from regard.tasks.looking import layer, unseen
from regard.tasks.sides import Sides, batch
from regard.tasks.subjects import spans_of
from regard.text.alignment import Link, links, pharaoh
from regard.text.encoded import Span
from regard.text.restoring import Rendered
from regard.text.spans import Word, words_of

Output = tuple[str, str, Hypothesis]


@dataclass(frozen=True)
class Alignment:
    """Links between the words of a source and of an output."""

    links: tuple[Link, ...] = ()
    source: tuple[Word, ...] = ()
    target: tuple[Word, ...] = ()

    def moved(self, source: int, target: int) -> "Alignment":
        """The same, that many characters further on."""
        if not (self.links or self.source or self.target):
            return self
        return Alignment(
            tuple(Link(_moved(link.source, source), _moved(link.target, target), link.weight) for link in self.links),
            tuple(replace(word, span=_moved(word.span, source)) for word in self.source),
            tuple(replace(word, span=_moved(word.span, target)) for word in self.target),
        )

    def among(self, source: Rendered, target: Rendered) -> "Alignment":
        """The same in texts with marks in them, whose words may be more, or one where there were several."""
        sources, targets = (
            words_of(side.text, [_within(side.places, word.span) for word in words])
            for side, words in ((source, self.source), (target, self.target))
        )
        links = (
            Link(_within(source.places, link.source), _within(target.places, link.target), link.weight)
            for link in self.links
        )
        return Alignment(tuple(links), tuple(sources), tuple(targets))

    def __add__(self, other: "Alignment") -> "Alignment":
        return Alignment(self.links + other.links, self.source + other.source, self.target + other.target)

    def __str__(self) -> str:
        """In Pharaoh form."""
        return pharaoh(self.links, self.source, self.target)


def alignments(model: nn.Module, sides: Sides, opening: Sequence[str], outputs: Sequence[Output]) -> list[Alignment]:
    """How each (source, text, hypothesis) is linked; `opening` pieces stand before every source."""
    weights = attention(model, sides, opening, outputs)
    return [aligned(sides, output, given) for output, given in zip(outputs, weights, strict=True)]


def attention(
    model: nn.Module, sides: Sides, opening: Sequence[str], outputs: Sequence[Output]
) -> list[Float[np.ndarray, "T S"]]:
    """Mean weights of every written piece over the pieces of its source, ends left out."""
    places = getattr(model, "looks", ())
    if not places:
        raise unseen(model, "from which an alignment could be shown")
    examples = [
        {
            "source": np.array(sides.read(sides.source.encode(source), opening)),
            "target": np.array([*one.pieces, sides.target.end]),
        }
        for source, _, one in outputs
    ]
    recorded = zip(_recorded(model, places, examples, sides.target.begin), examples, strict=True)
    before, after = len(opening) + len(sides.source.opening), len(sides.source.closing)
    return [_inner(weights, before, after, example) for weights, example in recorded]


def _recorded(
    model: Any, places: Sequence[str], examples: list[dict[str, Any]], begin: int
) -> list[Float[np.ndarray, "T S"]]:
    given = batch(examples, next(model.parameters()).device, begin)
    with torch.inference_mode(), record(model, *places) as seen:
        model(given.source, given.before, given.real)
    # A decoder that goes step by step is seen step by step.
    return list(torch.cat(layer(seen), 1).float().cpu().numpy())


def _inner(
    weights: Float[np.ndarray, "T S"], before: int, after: int, example: dict[str, Any]
) -> Float[np.ndarray, "_ _"]:
    """Without padding, ends and what frames the source."""
    return weights[: len(example["target"]) - 1, before : len(example["source"]) - after]


def aligned(sides: Sides, output: Output, weights: Float[np.ndarray, "T S"]) -> Alignment:
    text, written, hypothesis = output
    source = words_of(text, sides.source.encode(text).spans)
    target = words_of(written, spans_of(sides.target, hypothesis.pieces, written))
    return Alignment(tuple(links(weights, source, target)), tuple(source), tuple(target))


def _within(places: Sequence[int], span: Span) -> Span:
    """Where a span has come to stand."""
    start, end = span
    return (places[start], places[end - 1] + 1) if start < end else (0, 0)


def _moved(span: Span, by: int) -> Span:
    return (span[0] + by, span[1] + by)
