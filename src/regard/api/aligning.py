"""Word alignments of given or predicted outputs, and the attention that gives the best of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.api.explaining import subject
from regard.errors import DataError, RequestError
from regard.explain.alignment import AlignmentSettings, Gold, Judged, WordLinks, aligned, best, check, error
from regard.explain.confidence import Calibration, calibrated, signals
from regard.metrics import score_lines

if TYPE_CHECKING:
    from regard.api.pipeline import Input, Pipeline

NOTHING = WordLinks((), (), ())


@dataclass(frozen=True)
class Aligned:
    """An output, and which words of the input its words are linked to; both are empty where the input is."""

    text: str
    words: WordLinks = NOTHING

    def __str__(self) -> str:
        return str(self.words)


@dataclass(frozen=True)
class Choice:
    """The way to align that erred least on the lines it was chosen on, and its error on others."""

    settings: AlignmentSettings
    chosen_on: int
    there: float
    elsewhere: float | None
    # All that were tried, the best first.
    tried: tuple[Judged, ...]


def align(
    pipeline: "Pipeline", given: "Input", target: str | None = None, settings: AlignmentSettings | None = None
) -> Aligned:
    """The links between an input and its output, or the `target` that is given."""
    row = pipeline.row(given)
    if not any(text.strip() for text in row.values()) or (target is not None and not target.strip()):
        return Aligned(target or "")
    found = subject(pipeline, row, target)
    written = [unit for unit in found.outputs.units if not unit.special]
    if written and all(unit.span is None for unit in written):
        raise RequestError(
            f"The task {pipeline.recipe.task} writes no words that could be linked to those it reads; `regard explain` "
            "tells what each output comes from."
        )
    return Aligned(found.outputs.text, aligned(found, settings))


def choose(
    pipeline: "Pipeline",
    pairs: Sequence[tuple["Input", str]],
    gold: Sequence[Gold],
    also: Iterable[AlignmentSettings] = (),
) -> Choice:
    """The best way to align: chosen on the first half of these, measured on the second, so that luck is not counted."""
    if len(pairs) != len(gold) or not gold:
        raise DataError(f"{len(pairs)} pairs of texts and {len(gold)} lines of gold links; give as many of each.")
    half = (len(pairs) + 1) // 2
    subjects = [subject(pipeline, given, target) for given, target in pairs[:half]]
    tried = best(subjects, gold[:half], also)
    rest = [align(pipeline, given, target, tried[0].settings) for given, target in pairs[half:]]
    return Choice(tried[0].settings, half, tried[0].error, judged(rest, gold[half:]) if rest else None, tuple(tried))


def judged(found: Sequence[Aligned], gold: Sequence[Gold]) -> float:
    """The alignment error rate of all of them together."""
    if len(found) != len(gold):
        raise DataError(f"{len(found)} alignments and {len(gold)} lines of gold links; give as many of each.")
    for number, (one, links) in enumerate(zip(found, gold, strict=True), 1):
        check(one.words, links, f"Line {number} of the gold links")
    return error([one.words.pairs for one in found], gold)


def confidence(pipeline: "Pipeline", rows: Sequence[Mapping[str, str]], measure: str = "chrf") -> Calibration:
    """What coverage, focus and probability of outputs tell of their real quality, measured on rows with references."""
    made = [subject(pipeline, pipeline.asked(row)) for row in rows]
    texts = [one.outputs.text for one in made]
    quality = score_lines(texts, [pipeline.references(row) for row in rows], measure)
    return calibrated([signals(one) for one in made], [min(max(one / 100, 0.0), 1.0) for one in quality])
