"""What a metric has to keep: a number per line that adds up, and the best value for what is right."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.api.broken import Clause, require
from regard.metrics import Metric, metric, score

RIGHT = (
    "the quick brown fox jumps over the lazy dog",
    "a small cat sleeps on the old red mat by the door",
    "two children play in the wide green garden today",
    "he reads",
)
WRONG = tuple("zzz qqq xxx" for _ in RIGHT)
MIXED = (RIGHT[0], WRONG[1], "two children play in a garden", RIGHT[3])


def chosen(name: str, options: Mapping[str, Any]) -> Metric:
    return metric({"name": name, **options})


def value(measure: Metric, outputs: Sequence[str], references: Sequence[str] = RIGHT) -> float:
    return score(list(outputs), list(references), measure).value


def best(kind: str, name: str, options: Mapping[str, Any]) -> str:
    measure = chosen(name, options)
    sign = 1 if measure.higher_is_better else -1
    right, mixed, wrong = (value(measure, outputs) for outputs in (RIGHT, MIXED, WRONG))
    require(all(map(math.isfinite, (right, mixed, wrong))), f"values {right}, {mixed}, {wrong} are not all numbers.")
    told = f"all lines right {right:.4g}, some {mixed:.4g}, none {wrong:.4g}"
    require(sign * right > sign * wrong, f"{told}: what is right is not better. Is higher_is_better as it should be?")
    require(sign * right >= sign * mixed >= sign * wrong, f"{told}: out of order.")
    return told


def additive(kind: str, name: str, options: Mapping[str, Any]) -> str:
    measure, allowed = chosen(name, options), [[line] for line in RIGHT]
    together = measure.statistics(MIXED, allowed)
    require(together.ndim == 2 and len(together) == len(MIXED), f"statistics of shape {together.shape}, a row a line.")
    alone = [measure.statistics([output], [right])[0] for output, right in zip(MIXED, allowed, strict=True)]
    off = float(np.abs(together - np.array(alone)).max())
    require(off == 0.0, f"a line's numbers differ by {off:.1e} when other lines stand beside it.")
    return f"{len(MIXED)} lines alone and together: the same {together.shape[1]} numbers each"


def orderless(kind: str, name: str, options: Mapping[str, Any]) -> str:
    measure = chosen(name, options)
    found, turned = value(measure, MIXED), value(measure, MIXED[::-1], RIGHT[::-1])
    require(
        math.isclose(found, turned, rel_tol=1e-9, abs_tol=1e-9), f"{found} in one order of lines, {turned} in another."
    )
    require(found == value(measure, MIXED), "asked twice, another value.")
    return f"{found:.4g} in either order of lines, and when asked again"


def signed(kind: str, name: str, options: Mapping[str, Any]) -> str:
    found = score(list(MIXED), list(RIGHT), chosen(name, options))
    require(bool(found.signature) and "\n" not in found.signature, f"its signature is {found.signature!r}.")
    require(bool(found.name), "its scores have no name.")
    return str(found)


METRIC: dict[str, Clause] = {
    "perfect outputs give the best value": best,
    "a line's numbers do not depend on other lines": additive,
    "the order of lines does not matter": orderless,
    "scores are signed": signed,
}
