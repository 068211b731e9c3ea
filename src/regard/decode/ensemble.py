"""Several models as one."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import ConfigError, ModelError, unknown
from regard.models.protocols import Decoder, Start, State, room


def mean_of_probabilities(logs: Float[Tensor, "M R V"]) -> Float[Tensor, "R V"]:
    """log of the arithmetic mean: a piece is likely where some members find it likely."""
    return logs.logsumexp(0) - math.log(len(logs))


def mean_of_logs(logs: Float[Tensor, "M R V"]) -> Float[Tensor, "R V"]:
    """The geometric mean, brought back to a distribution: a piece is likely where no member finds it unlikely."""
    return logs.mean(0).log_softmax(-1)


MEANS: dict[str, Callable[[Tensor], Tensor]] = {
    "probabilities": mean_of_probabilities,
    "logs": mean_of_logs,
}


class Ensemble:
    """A Decoder over Decoders of one vocabulary, all reading the same source pieces."""

    def __init__(self, members: Sequence[Decoder], mean: str = "probabilities") -> None:
        if not members:
            raise ConfigError("An ensemble of no models; give at least one.")
        if mean not in MEANS:
            raise ConfigError(unknown("mean", mean, MEANS))
        for number, member in enumerate(members):
            if member.vocabulary != members[0].vocabulary:
                raise ConfigError(
                    f"Model {number} of the ensemble has {member.vocabulary}, but model 0 has {members[0].vocabulary}; "
                    "only models trained with one tokenizer can be joined."
                )
        self.members, self.mean = tuple(members), MEANS[mean]
        self.vocabulary = members[0].vocabulary

    def room(self, read: int) -> int | None:
        """As many pieces as the member can write that can write fewest."""
        return min((most for member in self.members if (most := room(member, read)) is not None), default=None)

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        starts = [member.start(source, real) for member in self.members]
        if any(not torch.equal(each.first, starts[0].first) for each in starts):
            raise ModelError("The models of the ensemble begin with different pieces; join models of one kind.")
        return Start(_joined([each.state for each in starts]), starts[0].first)

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        parts: Sequence[tuple[Any, Any]] = list(zip(state.shared, state.own, strict=True))
        steps = [member.step(pieces, State(*part)) for member, part in zip(self.members, parts, strict=True)]
        logs, states = zip(*steps, strict=True)
        return self.mean(torch.stack(logs)), _joined(states)


def _joined(states: Sequence[State]) -> State:
    return State(tuple(each.shared for each in states), tuple(each.own for each in states))
