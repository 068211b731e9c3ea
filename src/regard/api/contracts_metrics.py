"""What a metric has to keep: a number per line that adds up, and the best value for what is right."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from regard.api.broken import Clause, require
from regard.metrics import Likelihood, Metric, Score, metric, score, score_likelihood


@dataclass(frozen=True)
class Examples:
    """Lines that are all right, some of them, and none."""

    right: Sequence[Any]
    mixed: Sequence[Any]
    wrong: Sequence[Any]


# No word comes twice: what counts variety has to find these the best too.
RIGHT = (
    "the quick brown fox jumps over one lazy dog",
    "a small cat sleeps on its old red mat by our door",
    "two children play in that wide green garden today",
    "he reads",
)
WRONG = tuple("zzz qqq xxx" for _ in RIGHT)
TAGS = ("B-PER I-PER O", "O B-LOC", "B-ORG O B-PER")

EXAMPLES: dict[str, Examples] = {
    "text": Examples(RIGHT, (RIGHT[0], WRONG[1], "two children play in a garden", RIGHT[3]), WRONG),
    "tags": Examples(TAGS, (TAGS[0], "O O", "B-ORG O B-LOC"), ("O O B-PER", "B-LOC O", "O B-ORG O")),
    "likelihood": Examples(
        *([Likelihood(nll, 4, 2, 9), Likelihood(2 * nll, 7, 5, 21)] for nll in (1.0, 5.0, 20.0)),
    ),
}


def chosen(name: str, options: Mapping[str, Any]) -> Metric:
    return metric({"name": name, **options})


def examples(measure: Metric) -> Examples:
    """What this metric can be tried on."""
    return EXAMPLES["likelihood" if measure.of == "likelihood" else measure.reads]


def scored(measure: Metric, outputs: Sequence[Any], right: Sequence[Any]) -> Score:
    if measure.of == "likelihood":
        return score_likelihood(list(outputs), measure)
    return score(list(outputs), list(right), measure)


def best(kind: str, name: str, options: Mapping[str, Any]) -> str:
    measure = chosen(name, options)
    tried, sign = examples(measure), 1 if measure.higher_is_better else -1
    right, mixed, wrong = (
        scored(measure, outputs, tried.right).value for outputs in (tried.right, tried.mixed, tried.wrong)
    )
    require(all(map(math.isfinite, (right, mixed, wrong))), f"values {right}, {mixed}, {wrong} are not all numbers.")
    told = f"all lines right {right:.4g}, some {mixed:.4g}, none {wrong:.4g}"
    require(sign * right > sign * wrong, f"{told}: what is right is not better. Is higher_is_better as it should be?")
    require(sign * right >= sign * mixed >= sign * wrong, f"{told}: out of order.")
    return told


def additive(kind: str, name: str, options: Mapping[str, Any]) -> str:
    measure = chosen(name, options)
    if not measure.addable:
        return "not asked: it says that it is of all lines together"
    tried = examples(measure)
    lines, allowed = tried.mixed, [[line] for line in tried.right if isinstance(line, str)]
    together = measure.statistics(lines, allowed)
    require(together.ndim == 2 and len(together) == len(lines), f"statistics of shape {together.shape}, a row a line.")
    for number, (line, row) in enumerate(zip(lines, together, strict=True)):
        off = _distance(row, measure.statistics([line], allowed[number : number + 1])[0])
        require(off == 0.0, f"a line's numbers differ by {off:.1e} when other lines stand beside it.")
    return f"{len(lines)} lines alone and together: the same numbers each, in {together.shape[1]} columns"


def _distance(row: Float[np.ndarray, " columns"], alone: Float[np.ndarray, " fewer"]) -> float:
    # Columns may stand for what appears in any line, a label or a type: then those a line has nothing in are zero.
    if row.shape != alone.shape:
        row, alone = (np.sort(numbers[numbers != 0]) for numbers in (row, alone))
    return float(np.abs(row - alone).max(initial=0.0)) if row.shape == alone.shape else math.inf


def orderless(kind: str, name: str, options: Mapping[str, Any]) -> str:
    measure = chosen(name, options)
    tried = examples(measure)
    found = scored(measure, tried.mixed, tried.right).value
    turned = scored(measure, tried.mixed[::-1], tried.right[::-1]).value
    require(
        math.isclose(found, turned, rel_tol=1e-9, abs_tol=1e-9), f"{found} in one order of lines, {turned} in another."
    )
    require(found == scored(measure, tried.mixed, tried.right).value, "asked twice, another value.")
    return f"{found:.4g} in either order of lines, and when asked again"


def signed(kind: str, name: str, options: Mapping[str, Any]) -> str:
    measure = chosen(name, options)
    found = scored(measure, examples(measure).mixed, examples(measure).right)
    require(bool(found.signature) and "\n" not in found.signature, f"its signature is {found.signature!r}.")
    require(bool(found.name), "its scores have no name.")
    return str(found)


METRIC: dict[str, Clause] = {
    "perfect outputs give the best value": best,
    "a line's numbers do not depend on other lines": additive,
    "the order of lines does not matter": orderless,
    "scores are signed": signed,
}
