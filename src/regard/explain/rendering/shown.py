"""What every picture needs to know: what is text and what is not, the scale, the figures, the words beneath."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, log10

import numpy as np
from jaxtyping import Bool, Float

from regard.errors import ModelError, RequestError
from regard.explain.attribution import Attribution, Axis
from regard.explain.rendering.labels import label

Maps = Attribution | Sequence[Attribution]

# Up to so many outputs over at least so many inputs are shown as texts with highlighted words, not as a matrix.
FEW_OUTPUTS, MANY_INPUTS = 3, 12


@dataclass(frozen=True)
class Shown:
    """An explanation in the order it is drawn in: along each side what is text first, what is no text apart after it.

    The scale is the largest weight between texts. What is no text may be beyond it and is drawn as the scale's end.
    """

    map: Attribution
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    text_rows: int
    text_columns: int
    scale: float

    @cached_property
    def weights(self) -> Float[np.ndarray, "rows columns"]:
        return self.map.weights[np.ix_(self.rows, self.columns)].astype(np.float64)

    @cached_property
    def shares(self) -> Float[np.ndarray, "rows columns"]:
        """Weights as shares of the scale, from -1 to 1."""
        return np.clip(self.weights / self.scale, -1, 1)

    @cached_property
    def row_labels(self) -> list[str]:
        return [label(self.map.outputs.units[number]) for number in self.rows]

    @cached_property
    def column_labels(self) -> list[str]:
        return [label(self.map.inputs.units[number]) for number in self.columns]

    @property
    def as_texts(self) -> bool:
        """Whether few outputs look at a long text, which is then the better picture."""
        rows, columns = self.map.weights.shape
        return rows == 1 or (rows <= FEW_OUTPUTS and columns > MANY_INPUTS)

    def figure(self, row: int, column: int) -> str:
        """The weight of a cell (in the order drawn) in figures, with its interval."""
        place = self.rows[row], self.columns[column]
        told = figure(float(self.map.weights[place]), self.scale, self.map.signed)
        return told if self.map.error is None else f"{told} ± {figure(float(self.map.error[place]), self.scale)}"


def shown(attribution: Attribution, scale: float | None = None) -> Shown:
    """The explanation as it is drawn, on a scale of its own or a given one."""
    rows, text_rows = _ordered(attribution.outputs)
    columns, text_columns = _ordered(attribution.inputs)
    return Shown(attribution, rows, columns, text_rows, text_columns, scale or _scale(attribution))


def listed(maps: Maps) -> list[Attribution]:
    """The explanations as a list, each one found to be complete."""
    found = [maps] if isinstance(maps, Attribution) else list(maps)
    if not found:
        raise RequestError("There is no explanation to draw; give at least one.")
    for attribution in found:
        _require_whole(attribution)
    return found


def _require_whole(attribution: Attribution) -> None:
    sizes = len(attribution.outputs), len(attribution.inputs)
    if attribution.weights.shape != sizes:
        raise ModelError(
            f"The weights of {attribution.method} are {attribution.weights.shape}, but it names {sizes[0]} outputs and "
            f"{sizes[1]} inputs; there must be a row for each output and a column for each input."
        )
    values = [attribution.weights, *([] if attribution.error is None else [attribution.error])]
    if not all(np.isfinite(value).all() for value in values):
        raise ModelError(
            f"The weights of {attribution.method} hold values that are no numbers, which no picture can show; "
            "check the model's parameters with `regard check`."
        )
    # Rounding may leave a weight a hair below zero.
    if not attribution.signed and attribution.weights.min(initial=0) < -1e-6 * (1 + attribution.weights.max(initial=0)):
        raise ModelError(
            f"The weights of {attribution.method} go down to {attribution.weights.min():.3g}, but it is not marked as "
            "signed, and no shade is lighter than zero; set signed=True."
        )


def _ordered(axis: Axis) -> tuple[tuple[int, ...], int]:
    special = _special(axis)
    return tuple(np.argsort(special, kind="stable").tolist()), int((~special).sum())


def _special(axis: Axis) -> Bool[np.ndarray, " units"]:
    return np.array([unit.special for unit in axis.units], dtype=bool)


def _scale(attribution: Attribution) -> float:
    text = ~_special(attribution.outputs)[:, None] & ~_special(attribution.inputs)
    for values in (attribution.weights[text], attribution.weights):
        if largest := float(np.abs(values).max(initial=0)):
            return largest
    return 1.0


def elsewhere(attribution: Attribution) -> float | None:
    """The share of all weight that went to inputs that are no text; none where weights have signs or are all zero."""
    total = float(attribution.weights.sum())
    if attribution.signed or total <= 0:
        return None
    return float(attribution.weights[:, _special(attribution.inputs)].sum()) / total


def figure(value: int | float, scale: int | float, signed: bool = False) -> str:
    """A number with as many decimals as its scale is worth.

    >>> figure(0.8231, 1), figure(0.0123, 0.05), figure(-31.26, 40, signed=True), figure(0, 1)
    ('0.82', '0.012', '−31', '0')
    """
    # A scale of exactly 1, the most attention can be, counts as just below it.
    decimals = max(0, 1 - floor(log10(scale * 0.9999)))
    sign = "+" if signed and value else ""
    told = f"{value:{sign}.{decimals}f}" if decimals <= 6 and scale < 1e6 else f"{value:{sign}.1e}"
    return told.replace("-", "−", 1) if value else "0"


def heading(attribution: Attribution) -> str:
    """The method's name as a title."""
    name = attribution.method.replace("_", " ")
    return name[:1].upper() + name[1:]


def notes(seen: Sequence[Shown], apart: str = "hatched") -> list[str]:
    """The lines beneath a picture: what is apart, what the method checked of itself, and what it cannot tell."""
    caveats = dict.fromkeys(one.map.caveat for one in seen if one.map.caveat)
    return [*_apart(seen, apart), *_checks(seen), *caveats]


def _apart(seen: Sequence[Shown], how: str) -> list[str]:
    if not any(unit.special for one in seen for unit in one.map.inputs.units):
        return []
    shares = [share for one in seen if (share := elsewhere(one.map)) is not None]
    told = f": it has {sum(shares) / len(shares):.0%} of all weight" if shares else ""
    if any(np.abs(one.weights).max(initial=0) > one.scale for one in seen):
        told += "; beyond the scale it is drawn as the scale's end"
    return [f"What is no text (begin, end, separators) stands apart, {how}{told}."]


def _checks(seen: Sequence[Shown]) -> list[str]:
    """The worst of each check."""
    worst: dict[str, float] = {}
    for one in seen:
        for name, value in one.map.check.items():
            worst[name] = max(worst.get(name, value), value, key=abs)
    told = ", ".join(f"{name} {value:.2g}" for name, value in worst.items())
    return [f"Self-check (0 is perfect): {told}."] if told else []
