"""What training, prediction and the command line may ask of any task, and all tasks by name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from torch import nn

from regard.data import Encoding
from regard.nn import Loss
from regard.tasks.recipe import Recipe
from regard.tasks.translation import TranslationTask


@runtime_checkable
class Result(Protocol):
    """What comes of one input, whatever the task."""

    @property
    def text(self) -> str: ...

    @property
    def status(self) -> tuple[str, ...]: ...

    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        ...


@runtime_checkable
class Task(Protocol):
    """One kind of task with the tokenizers it learned."""

    # The settings of its recipes; the fields its rows have, the last of them what is to be predicted.
    Recipe: ClassVar[type[Recipe]]
    fields: ClassVar[tuple[str, ...]]

    @classmethod
    def check(cls, recipe: Any) -> None:
        """Refuse what can be seen to be wrong before any text is read."""
        ...

    @classmethod
    def learn(cls, recipe: Any, rows: Iterable[Mapping[str, str]]) -> "Task": ...

    @classmethod
    def load(cls, recipe: Any, files: Mapping[str, str]) -> "Task": ...

    def files(self) -> dict[str, str]: ...

    def encoding(self, languages: Mapping[str, str]) -> Encoding: ...

    def model(self) -> nn.Module: ...

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Any: ...

    def loss(self, model: nn.Module, batch: Any, smoothing: float) -> Loss: ...

    def predict(self, model: nn.Module, rows: Iterable[Mapping[str, str]], recipe: Any) -> Iterator[Result]: ...

    def settle(self, model: nn.Module, row: Mapping[str, str], recipe: Any) -> Iterator[str | Result]: ...


TASKS: dict[str, Any] = {"translation": TranslationTask}
