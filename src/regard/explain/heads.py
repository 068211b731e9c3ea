"""Which heads matter: what is lost without each, and how much each output hangs on it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import replace
from regard.errors import ModelError, RequestError
from regard.explain.asking import MANY_PIECES, around, attentive, beside, differentiable, heads, scores, still
from regard.explain.slopes import held
from regard.explain.subject import Look, Subject


@dataclass(frozen=True)
class Head:
    """One head of one attention layer."""

    look: Look
    number: int

    def __str__(self) -> str:
        side = {"inputs": " of inputs", "outputs": " of outputs"}.get(self.look.queries, "")
        kind = f"{self.look.kind}{side}" if self.look.kind == "self" else self.look.kind
        return f"{kind}, layer {self.look.layer}, head {self.number}"


@dataclass(frozen=True)
class HeadTable:
    """Figures of heads, one row a head, one column a figure; NaN where a figure has no meaning."""

    heads: tuple[Head, ...]
    columns: tuple[str, ...]
    figures: Float[np.ndarray, "heads columns"]

    def beside(self, other: "HeadTable") -> "HeadTable":
        """The columns of both."""
        if self.heads != other.heads:
            raise RequestError("These tables are of different heads; make both from the same subjects.")
        figures = np.concatenate([self.figures, other.figures], axis=1)
        return HeadTable(self.heads, self.columns + other.columns, figures)

    def column(self, name: str) -> dict[Head, float]:
        place = self.columns.index(name)
        return {head: float(figure) for head, figure in zip(self.heads, self.figures[:, place], strict=True)}

    def plain(self) -> list[dict[str, Any]]:
        """All of it as JSON has it."""
        rows = [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.figures.tolist()]
        return [_named(head) | row for head, row in zip(self.heads, rows, strict=True)]

    def __str__(self) -> str:
        names = [str(head) for head in self.heads]
        wide = max(map(len, names), default=0)
        lines = ["  ".join([" " * wide, *self.columns])]
        for name, row in zip(names, self.figures, strict=True):
            cells = [_shown(figure).rjust(len(column)) for figure, column in zip(row, self.columns, strict=True)]
            lines.append("  ".join([name.ljust(wide), *cells]))
        return "\n".join(lines)


@contextmanager
def silenced(subject: Subject, look: Look, numbers: Sequence[int]) -> Iterator[None]:
    """The model with these heads of one layer putting out nothing."""

    def silence(tensor: Float[Tensor, "R H Q X"]) -> Float[Tensor, "R H Q X"]:
        quiet_H = torch.zeros(tensor.shape[1], dtype=torch.bool, device=tensor.device)
        quiet_H[list(numbers)] = True
        return tensor.masked_fill(quiet_H[:, None, None], 0.0)

    with replace(subject.model, spoken(subject, look), silence):
        yield


def spoken(subject: Subject, look: Look) -> str:
    """The tap of what each head puts out; an output that weighs values for itself never sees the context."""
    return look.tap if around(subject, look).answer.explicit else beside(look, "context")


def by_ablation(subjects: Sequence[Subject]) -> HeadTable:
    """How far log p falls, the mean over outputs, when a head puts out nothing   (Michel et al. 2019)."""
    every = all_heads(subjects)
    falls = np.array([_falls(subject, every) for subject in subjects], dtype=np.float64)
    return HeadTable(every, ("fall",), falls.mean(0)[:, None])


@torch.inference_mode(False)
def by_gradient(subjects: Sequence[Subject]) -> HeadTable:
    """E |context_h . d log p / d context_h|, of all outputs together   (Michel et al. 2019)."""
    every = all_heads(subjects)
    found = np.array([_sensitivities(subject) for subject in subjects], dtype=np.float64)
    return HeadTable(every, ("sensitivity",), found.mean(0)[:, None])


def all_heads(subjects: Sequence[Subject]) -> tuple[Head, ...]:
    """The heads of the model that all subjects are of."""
    if not subjects:
        raise RequestError("No texts were given to look at heads with; give at least one.")
    first = subjects[0]
    if any(subject.model is not first.model or subject.looks != first.looks for subject in subjects):
        raise RequestError("These texts are explained with different models; look at the heads of one at a time.")
    return tuple(Head(look, number) for look in attentive(first) for number in heads(first, look, "mean"))


@torch.no_grad()
def _falls(subject: Subject, every: Sequence[Head]) -> list[float]:
    """What each head is missed by, many heads in one pass: each version of the text has another one silent."""
    size, falls = max(1, MANY_PIECES // len(subject.pieces)), []
    with still(subject.model):
        whole_O = scores(subject)
        for start in range(0, len(every), size):
            few = every[start : start + size]
            with ExitStack() as quiet:
                for look in subject.looks:
                    quiet.enter_context(replace(subject.model, spoken(subject, look), _silencing(few, look)))
                without_NO = subject.scores(subject.pieces.expand(len(few), -1))
            falls += (whole_O - without_NO).mean(-1).tolist()
    return falls


def _silencing(few: Sequence[Head], look: Look) -> Callable[[Tensor], Tensor]:
    """In version n, head few[n] puts out nothing, if it is one of this layer."""

    def silence(tensor: Float[Tensor, "N H Q X"]) -> Float[Tensor, "N H Q X"]:
        if len(tensor) != len(few):
            raise ModelError(f"{len(few)} versions were to be scored at once, and {len(tensor)} were.")
        quiet_NH = torch.zeros(tensor.shape[:2], dtype=torch.bool, device=tensor.device)
        for version, head in enumerate(few):
            if head.look == look:
                quiet_NH[version, head.number] = True
        return tensor.masked_fill(quiet_NH[:, :, None, None], 0.0)

    return silence


def _sensitivities(subject: Subject) -> list[float]:
    taps = [spoken(subject, look) for look in subject.looks]
    with differentiable(subject.model), held(subject.model, taps) as contexts:
        total = scores(subject).sum()
        flat = [one for tap in taps for one in contexts[tap]]
        gradients = iter(torch.autograd.grad(total, flat, allow_unused=True))
    return [each for tap in taps for each in _sensitive(contexts[tap], gradients)]


def _sensitive(contexts: Sequence[Float[Tensor, "B H _ _"]], gradients: Iterator[Tensor | None]) -> list[float]:
    """|sum of context times gradient| of each head, over all calls of its layer."""
    total_H = contexts[0].new_zeros(contexts[0].shape[1])
    for context in contexts:
        gradient = next(gradients)
        if gradient is not None:
            total_H = total_H + (context.detach() * gradient).sum((0, 2, 3))
    return total_H.abs().tolist()


def _named(head: Head) -> dict[str, Any]:
    return {"kind": head.look.kind, "queries": head.look.queries, "layer": head.look.layer, "head": head.number}


def _plain(figure: float) -> float | None:
    return None if np.isnan(figure) else figure


def _shown(figure: float) -> str:
    return "-" if np.isnan(figure) else f"{figure:.2f}"
