"""How much an output hangs on each attention weight, and what each weight times that is.

A weight acts through the context it makes: d log p / d A[q, k] = (d log p / d context[q]) . v[k], for each head. So the
model runs as it always does, its kernel included, and only contexts are held in the graph; weights are rebuilt a few
heads at a time, and no gradient of all of them ever exists. Where weights act otherwise too (copying, outputs that
weigh values for themselves, positions that change values, mechanisms that look back), they are held themselves.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import record, replace
from regard.explain.asking import (
    MANY_WEIGHTS,
    around,
    beside,
    heads,
    in_turn,
    looked,
    mechanism,
    scores,
    side_by_side,
    still,
    worse,
    worst,
)
from regard.explain.subject import Look, Subject


class Slopes:
    """mean_h max(0, A * d log p / d A) of layers, for one output after another."""

    def __init__(self, subject: Subject, looks: Sequence[Look]) -> None:
        self.subject, self.looks = subject, looks
        self.check: dict[str, float] = {}
        self._whole = {look.tap: acts_otherwise(subject, look) for look in looks}
        self._values: dict[str, Float[Tensor, "H K E"]] = {}
        self._known: dict[str, list[Float[Tensor, "H Q K"]]] = {}
        self._room = 2 * MANY_WEIGHTS
        self._run()

    def _run(self) -> None:
        """One pass, of which the graph is kept."""
        taps = [self._tap(look) for look in self.looks]
        with held(self.subject.model, taps) as self._passed, ExitStack() as watches:
            seen = {
                look.tap: watches.enter_context(record(self.subject.model, beside(look, "values"), examples=[0]))
                for look in self.looks
                if not self._whole[look.tap]
            }
            self.scores = scores(self.subject)
        for tap, records in seen.items():
            self._values[tap] = torch.cat([entry.tensor[0] for entry in records], dim=1)
        if any(self._whole.values()):
            self.check["score"] = distance(self.subject, self.scores)

    def __call__(self, output: int) -> Callable[[Look], Float[Tensor, "Q K"]]:
        """The map of each layer for one output, made when it is asked for."""
        flat = [one for look in self.looks for one in self._passed[self._tap(look)]]
        # After the last output the graph is let go, before the weights take its room.
        more = output + 1 < len(self.scores)
        slopes = iter(torch.autograd.grad(self.scores[output], flat, retain_graph=more, allow_unused=True))
        by_tap = {look.tap: [next(slopes) for _ in self._passed[self._tap(look)]] for look in self.looks}
        return lambda look: self._map(look, by_tap[look.tap])

    def _map(self, look: Look, slopes: Sequence[Tensor | None]) -> Float[Tensor, "Q K"]:
        passed = [one.detach() for one in self._passed[self._tap(look)]]
        found = [torch.zeros_like(one) if slope is None else slope for one, slope in zip(passed, slopes, strict=True)]
        if self._whole[look.tap]:
            parts = [(one * slope)[0].clamp(min=0) for one, slope in zip(passed, found, strict=True)]
            return side_by_side(self.subject, look, parts).mean(0)
        slopes_HQE = torch.cat([slope[0] for slope in found], dim=1)
        return self._through(look, slopes_HQE)

    @torch.no_grad()
    def _through(self, look: Look, slopes: Float[Tensor, "H Q E"]) -> Float[Tensor, "Q K"]:
        values_GKE = self._values[look.tap]
        values_HKE = values_GKE.repeat_interleave(len(slopes) // len(values_GKE), dim=0)
        total, first = None, 0
        for weights_HQK in self._weights(look):
            for weights_QK in weights_HQK:
                slope_QK = slopes[first] @ values_HKE[first].T
                if len(look.at) == 1:
                    slope_QK = side_by_side(self.subject, look, [slope_QK[None]])[0]
                part_QK = slope_QK.mul_(weights_QK).clamp_(min=0)
                total = part_QK if total is None else total.add_(part_QK)
                first += 1
        assert total is not None
        return total / first

    def _weights(self, look: Look) -> Iterator[Float[Tensor, "H Q K"]]:
        """The weights of some heads, then of the next; of short texts they are remembered."""
        if look.tap in self._known:
            yield from self._known[look.tap]
            return
        parts: list[Tensor] | None = []
        for _, records in looked(self.subject, look, heads(self.subject, look, "mean")):
            self.check = worse(self.check, worst(records))
            found_HQK = in_turn(self.subject, look, records)
            self._room -= found_HQK.numel()
            parts = None if parts is None or self._room < 0 else [*parts, found_HQK]
            yield found_HQK
        if parts is not None:
            self._known[look.tap] = parts

    def _tap(self, look: Look) -> str:
        return look.tap if self._whole[look.tap] else beside(look, "context")


def acts_otherwise(subject: Subject, look: Look) -> bool:
    """Whether weights do anything but mix values that are the same for whoever asks."""
    found = mechanism(subject, look)
    return found.explicit or found.recurrent or found.position.mixes or around(subject, look).answer.explicit


@contextmanager
def held(model: nn.Module, taps: Sequence[str]) -> Iterator[dict[str, list[Tensor]]]:
    """What passes these taps as it enters the graph, call by call; weights are built for it where no kernel does."""
    passed: dict[str, list[Tensor]] = {tap: [] for tap in taps}
    with ExitStack() as watches:
        for tap in taps:
            watches.enter_context(replace(model, tap, _keeping(passed[tap])))
        yield passed


def distance(subject: Subject, scores_O: Float[Tensor, " O"]) -> float:
    """How far scores from weights held in the graph are from those of the kernel the model runs."""
    with torch.no_grad(), still(subject.model):
        return float((scores(subject) - scores_O.detach()).abs().max())


def _keeping(kept: list[Tensor]) -> Callable[[Tensor], Tensor]:
    def keep(tensor: Tensor) -> Tensor:
        tensor = tensor if tensor.requires_grad else tensor.detach().requires_grad_()
        kept.append(tensor)
        return tensor

    return keep
