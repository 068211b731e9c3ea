"""Several models as one: what writes text decides piece by piece, what reads a text by the mean of its scores."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from regard.decode import Ensemble
from regard.errors import ConfigError
from regard.models import Panel
from regard.models.panel import JOINED
from regard.models.protocols import Decoder


class Together(nn.Module):
    """Several models that generate as one."""

    def __init__(self, models: Sequence[Any]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.ensemble = Ensemble(models)
        self.vocabulary = self.ensemble.vocabulary
        self.start, self.step, self.room = self.ensemble.start, self.ensemble.step, self.ensemble.room


# To add one: the kinds of models, and what makes one of several.
JOINS: list[tuple[Any, Callable[[Sequence[Any]], nn.Module]]] = [(Decoder, Together), (JOINED, Panel)]


def joined(models: Sequence[nn.Module]) -> nn.Module:
    """The models as one."""
    for kinds, join in JOINS:
        if all(isinstance(model, kinds) for model in models):
            return join(models)
    raise ConfigError("An ensemble is of models that all write text, all classify, all tag or all find answers.")
