"""The formula of one cell of attention with its real numbers: what query and key gave, and what became of it."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import Mechanism, Record, record
from regard.attention.normalizers import Softmax, Sparsemax, TopSoftmax
from regard.attention.positions import Position
from regard.attention.scopes import Scope
from regard.attention.scores import Product
from regard.errors import RequestError
from regard.explain.asking import beside, in_turn, mechanism, scores, still
from regard.explain.grid import Stack
from regard.explain.subject import Look, Subject

# exp of this is nothing, whatever single precision makes of it.
NOTHING = -69.0


@dataclass(frozen=True)
class Formula:
    """weight = exp(score - log_sum) x factor, score = product x scale + bias; None stands for what there is not.

    A cell that is out of view has no score. Sparsemax has a `threshold`, which is taken from the score.
    """

    formula: str
    text: str
    weight: float
    rows: int
    columns: int
    in_view: bool
    score: float | None = None
    log_sum: float | None = None
    factor: float | None = None
    threshold: float | None = None
    product: float | None = None
    scale: float | None = None
    bias: float | None = None

    def plain(self) -> dict[str, Any]:
        return asdict(self)


class _Row(NamedTuple):
    """A row of one head: all scores and weights, and the place of the cell in it."""

    scores: Float[Tensor, " K"]
    weights: Float[Tensor, " K"]
    at: int

    @property
    def score(self) -> float:
        return float(self.scores[self.at])

    @property
    def weight(self) -> float:
        return float(self.weights[self.at])


class _Normal(NamedTuple):
    """How a score becomes its weight, as far as a formula can say it."""

    text: str
    log_sum: float | None = None
    factor: float | None = None
    threshold: float | None = None


class _Met(NamedTuple):
    """The query and the key of a cell."""

    query: Float[Tensor, "1 H 1 E"]
    key: Float[Tensor, "1 G 1 E"]


class _Parts(NamedTuple):
    product: float | None = None
    scale: float | None = None
    bias: float | None = None


@torch.no_grad()
def formula(subject: Subject, stack: Stack, layer: int, head: int, row: int, column: int) -> Formula:
    """The numbers of a cell, counted as the stack is drawn; `layer` counts the stack's own."""
    _check(stack, layer, head, row, column)
    look = stack.looks[layer]
    parts = mechanism(subject, look)
    line, met = _seen(subject, stack, look, head, (row, column))
    if line is None or met is None or not _in_view(parts, line):
        told = "out of view: weight 0" if _exponential(parts) else "not chosen, or out of view: weight 0"
        return Formula(_told(parts), told, 0.0, stack.rows, stack.columns, False)
    found = _normal(parts, line)
    return Formula(
        _told(parts), found.text, line.weight, stack.rows, stack.columns, True, line.score, *found[1:],
        *_factors(parts, met, head, line.score),
    )  # fmt: skip


def _check(stack: Stack, layer: int, head: int, row: int, column: int) -> None:
    if not 0 <= layer < len(stack.looks):
        raise RequestError(f"There is no layer {layer}: {stack.name} has {len(stack.looks)}, counted from 0.")
    limits = (("head", head, stack.heads[layer]), ("row", row, stack.rows), ("column", column, stack.columns))
    for what, number, count in limits:
        if not 0 <= number < count:
            raise RequestError(f"There is no {what} {number}: {stack.name} has {count}, counted from 0.")


def _told(parts: Mechanism) -> str:
    """The formula in words; a score's own description begins with it."""
    score = type(parts.score)
    inside = re.split(r" {2,}|: |\.$", (score.__doc__ or score.__name__).partition("\n")[0])[0]
    inside = re.sub(r"sqrt\([AE]\)", f"sqrt({parts.sizes.key})", inside).replace(" . ", ".")
    bias = " + bias" if _biased(parts) else ""
    scope = "" if _plain(parts) else f", scope {parts.settings.scope.name}"
    return f"{parts.settings.normalizer.name}({inside}{bias}){scope}"


def _biased(parts: Mechanism) -> bool:
    return type(parts.position).bias is not Position.bias


def _plain(parts: Mechanism) -> bool:
    """Whether the weights are what the normalizer gives, and nothing else."""
    return parts.scope.plain and type(parts.scope).factor is Scope.factor


def _exponential(parts: Mechanism) -> bool:
    return parts.scope.plain and isinstance(parts.normalizer, Softmax | TopSoftmax)


def _seen(
    subject: Subject, stack: Stack, look: Look, head: int, cell: tuple[int, int]
) -> tuple[_Row | None, _Met | None]:
    """The row a cell stands in, and what met there; none where the layer has no such column."""
    score, query, key = (beside(look, tap) for tap in ("scores", "queries", "keys"))
    model = subject.model
    with still(model), record(model, score, look.tap, heads=[head]) as seen, record(model, query, key) as vectors:
        scores(subject)
    scores_QK, weights_QK = (
        in_turn(subject, look, [one for one in seen if one.name == tap])[0].double() for tap in (score, look.tap)
    )
    row = cell[0] + (len(scores_QK) - stack.rows if look.queries == "outputs" else 0)
    column = _column(subject, stack, scores_QK.shape[1], cell[1])
    if column is None:
        return None, None
    named = {tap: [one for one in vectors if one.name == tap] for tap in (query, key)}
    return _Row(scores_QK[row], weights_QK[row], column), _met(look, named[query], named[key], row, column)


def _column(subject: Subject, stack: Stack, width: int, column: int) -> int | None:
    """The column of the layer's own map."""
    if stack.keys == stack.look.keys:
        return column if column < width else None
    column += width - stack.columns
    return column if column >= len(subject.inputs) else None


def _met(look: Look, queries: Sequence[Record], keys: Sequence[Record], row: int, column: int) -> _Met | None:
    """The query and the key of a cell: of the text that both stand in, or of all steps in turn."""
    calls = [(place, query.tensor, key.tensor) for place, query, key in zip(look.at, queries, keys, strict=False)]
    if not look.at:
        query_1HQE, key_1GKE = (torch.cat([one.tensor for one in some], dim=2) for some in (queries, keys))
        calls = [((0, 0), query_1HQE, key_1GKE)]
    for (first, left), query_1HQE, key_1GKE in calls:
        down, along = row - first, column - left
        if 0 <= down < query_1HQE.shape[2] and 0 <= along < key_1GKE.shape[2]:
            return _Met(query_1HQE[:, :, down : down + 1], key_1GKE[:, :, along : along + 1])
    return None


def _in_view(parts: Mechanism, row: _Row) -> bool:
    """Whether the weight is what the score gives: one of zero though its score is not that low was out of view."""
    if row.weight > 0:
        return True
    if not bool((row.weights > 0).any()):
        return False
    found = _normal(parts, row)
    if found.log_sum is not None:
        return row.score - found.log_sum < NOTHING
    return found.threshold is not None and row.score <= found.threshold


def _normal(parts: Mechanism, row: _Row) -> _Normal:
    """What the score becomes, and the line that says so."""
    score, weight, support = row.score, row.weight, row.weights > 0
    if isinstance(parts.normalizer, Sparsemax) and _plain(parts):
        threshold = float((row.scores - row.weights)[support][0])
        return _Normal(f"max({_less(score, threshold)}, 0) = {weight:.3g}", threshold=threshold)
    if not _exponential(parts):
        by = f"{parts.settings.normalizer.name}, scope {parts.settings.scope.name}"
        return _Normal(f"score {score:.2f}, weight {weight:.3g} by {by}")
    log_sum = float(row.scores[support].logsumexp(0))
    told = f"exp({_less(score, log_sum)})"
    if _plain(parts):
        return _Normal(f"{told} = {weight:.3g}", log_sum)
    factor = weight / exp(max(score - log_sum, NOTHING))
    return _Normal(f"{told} x {factor:.2f} = {weight:.3g}", log_sum, factor)


def _less(one: float, other: float) -> str:
    return f"{one:.2f} {'+' if other < 0 else '-'} {abs(other):.2f}"


def _factors(parts: Mechanism, met: _Met, head: int, score: float) -> _Parts:
    """product x scale + bias = score, of a score that is a product."""
    if not isinstance(parts.score, Product):
        return _Parts()
    asked_1H1A, key_1G1A = parts.score.ask(met.query), parts.score.prepare(met.key)
    shared = asked_1H1A.shape[1] // key_1G1A.shape[1]
    product = float((asked_1H1A[0, head, 0].double() * key_1G1A[0, head // shared, 0].double()).sum())
    scale = parts.score.scale * _sharpness(parts, head)
    return _Parts(product, scale, score - product * scale if _biased(parts) else None)


def _sharpness(parts: Mechanism, head: int) -> float:
    """One over the temperature of the softmax."""
    factor = parts.normalizer.factor if isinstance(parts.normalizer, Softmax) else 1.0
    return float(factor.flatten()[head]) if isinstance(factor, Tensor) else factor
