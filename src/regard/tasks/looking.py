"""Attention to the source as it is paid, for a search that wants to know."""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Record, record
from regard.errors import RequestError


def is_ensemble(model: nn.Module) -> bool:
    """Whether it is several models that decide together."""
    return hasattr(model, "ensemble")


def unseen(model: nn.Module, why: str) -> RequestError:
    """What is said where there is no attention to look at."""
    if is_ensemble(model):
        return RequestError("Models that decide together have no attention in common; ask one of them alone.")
    return RequestError(f"This model has no attention over its source {why}.")


class Looking:
    """Inside, `last` tells the weights of the step just taken, heads averaged; see `layer` for which they are."""

    def __init__(self, model: nn.Module) -> None:
        self.places: tuple[str, ...] = getattr(model, "looks", ())
        if not self.places:
            raise unseen(model, "that could be looked at")
        self._recording: AbstractContextManager[list[Record]] = record(model, *self.places)
        self._seen: list[Record] = []

    def __enter__(self) -> "Looking":
        self._seen = self._recording.__enter__()
        return self

    def __exit__(self, *failure: Any) -> bool | None:
        kind, error, trace = failure
        return _closed(self._recording, kind, error, trace)

    def last(self) -> Float[Tensor, "R S"]:
        """Rows as in the step: several beams of a source stand one after the other."""
        weights = layer(self._seen)[-1]
        self._seen.clear()
        return weights.reshape(-1, weights.shape[-1])


def layer(seen: list[Record]) -> list[Float[Tensor, "B T S"]]:
    """The weights of the one layer that shows most, step by step, heads averaged.

    Of several layers it is the one before the last, where attention follows translation most closely (Garg et al.
    2019, 4.1).
    """
    names = list(dict.fromkeys(entry.name for entry in seen))
    chosen = names[-2] if len(names) > 1 else names[-1]
    return [_headless(entry) for entry in seen if entry.name == chosen]


def _headless(entry: Record) -> Float[Tensor, "B T S"]:
    return entry.tensor.mean(entry.axes.index("H")) if "H" in entry.axes else entry.tensor


def _closed(
    recording: AbstractContextManager[list[Record]],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> bool | None:
    return recording.__exit__(kind, error, trace)
