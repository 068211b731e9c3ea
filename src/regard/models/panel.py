"""Several models that read a text as one: each class, tag or place has the mean of the scores its members give it."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.models.heads import Answers
from regard.models.reading import DocumentReader
from regard.models.understanding import Classifier, SpanReader, Tagger

# To add one: what it says of a text is one tensor of scores, all else it does with these alone.
JOINED: tuple[type[nn.Module], ...] = (Classifier, Tagger, SpanReader, DocumentReader)


class Panel(nn.Module):
    """mean_m f_m(x), so that p is the geometric mean of the members', made to sum to one again.

    With CRFs the scores of moves are averaged as well, which is the same mean over whole paths.
    """

    def __init__(self, members: Sequence[Any]) -> None:
        super().__init__()
        first = members[0]
        for member in members:
            if type(member) is not type(first) or _decides(member) != _decides(first):
                raise ConfigError("Only models with one kind of head can be joined in an ensemble.")
        self.models = nn.ModuleList(members)
        self.settings = first.settings
        # What others know it by as several models: see `regard.tasks.looking`.
        self.ensemble = len(members)
        self.head = _mean_of_moves([member.head for member in members]) if isinstance(first, Tagger) else None

    def forward(self, *given: Tensor | None) -> Tensor:
        mean = torch.stack([member(*given) for member in self.models]).mean(0)
        # What is forbidden has the lowest number there is, and the sum of several is lower.
        return mean.clamp(min=torch.finfo(mean.dtype).min)

    @property
    def _first(self) -> Any:
        return self.models[0]

    def probabilities(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B C"]:
        return self._first.probabilities(logits)

    def answers(self, logits: Float[Tensor, "B T 2"], longest: int) -> Answers:
        return self._first.answers(logits, longest)

    def best(self, emissions: Float[Tensor, "B W C"], real: Bool[Tensor, "B W"]) -> Int[Tensor, "B W"]:
        assert self.head is not None
        return self.head.best(emissions, real)

    def marginals(self, emissions: Float[Tensor, "B W C"], real: Bool[Tensor, "B W"]) -> Float[Tensor, "B W C"]:
        assert self.head is not None
        return self.head.marginals(emissions, real)


def _decides(model: Any) -> tuple[bool, bool]:
    """Whether a model gives several classes, and whether it has a CRF: what a mean of scores depends on."""
    return getattr(model.settings, "several", False), getattr(model.settings, "crf", False)


def _mean_of_moves(heads: Sequence[Any]) -> Any:
    """A head with the mean of what the CRFs of several score a move from tag to tag."""
    found = copy.deepcopy(heads[0])
    if found.crf is not None:
        with torch.no_grad():
            for name, parameter in found.crf.named_parameters():
                parameter.copy_(torch.stack([head.crf.get_parameter(name) for head in heads]).mean(0))
    return found
