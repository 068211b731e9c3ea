"""What every recipe says, whatever its task: data, model, training, search, measures."""

from typing import Any, Literal

from pydantic import Field, field_validator

from regard.config import Part, Rate, Settings
from regard.data import BatchSettings, CorpusSettings, Policy
from regard.decode import SearchSettings
from regard.train import FitSettings, OptimizerSettings


class DataSettings(Settings):
    """Where the texts stand. Paths are relative to `root`, and that to the folder one works in."""

    root: str = ""
    train: tuple[CorpusSettings, ...]
    valid: CorpusSettings
    # Held-out corpora by name; none of them is looked at before `regard evaluate`.
    test: dict[str, CorpusSettings] = Field(default={})
    # What to do about a bad line: stop and name it, or leave it out and count.
    policy: Policy = "stop"
    # What separates several references on one line of a held-out corpus, each as good as the others; none by default.
    references: str = ""
    cleaning: tuple[Part, ...] = ()

    @field_validator("train", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value


class LossSettings(Settings):
    """How far targets are smoothed towards all pieces alike."""

    smoothing: Rate = 0.1


class ValidationSettings(Settings):
    """How a model is judged while it learns; without metrics by its loss alone."""

    metrics: tuple[Part, ...] = ()
    search: SearchSettings = SearchSettings(method="greedy")
    # The first lines only, where all of them would take too long.
    lines: int | None = Field(default=None, ge=1)


class Recipe(Settings):
    """A whole run in settings; tasks add their own."""

    task: str
    seed: int = 1
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    data: DataSettings
    model: Part
    batches: BatchSettings = BatchSettings()
    loss: LossSettings = LossSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    train: FitSettings = FitSettings()
    validation: ValidationSettings = ValidationSettings()
    search: SearchSettings = SearchSettings()
    metrics: tuple[Part, ...] = ()
    # Write the log's numbers for TensorBoard as well, into the run's folder.
    tensorboard: bool = False
