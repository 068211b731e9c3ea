"""What every recipe says, whatever its task: data, model, training, search, measures."""

from typing import Any, Literal, Self

from pydantic import Field, NonNegativeFloat, field_validator, model_validator

from regard.config import Part, Rate, Settings
from regard.data import BatchSettings, CorpusSettings, Policy
from regard.decode import SearchSettings
from regard.train import FitSettings, OptimizerSettings, TuningSettings


class DataSettings(Settings):
    """Where the texts stand. Paths are relative to `root`, and that to the folder one works in."""

    root: str = ""
    train: tuple[CorpusSettings, ...] = ()
    # A corpus of its own, or a share of training that is then left out of it.
    valid: CorpusSettings = CorpusSettings(share=(0.0, 0.05))
    # Held-out corpora by name; none of them is looked at before `regard evaluate`.
    test: dict[str, CorpusSettings] = Field(default={})
    # What to do about a bad line, held out or not: stop and name it, or leave it out and count it beside the scores.
    policy: Policy = "stop"
    # What separates several references on one line of a held-out corpus, each as good as the others; none by default.
    references: str = ""
    cleaning: tuple[Part, ...] = ()

    @field_validator("train", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value


class ModelPart(Part):
    """A model by name with its settings; or the bundle it goes on from, and what is to be otherwise."""

    name: str = ""
    start: str = ""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.name and not self.start:
            raise ValueError("name a model, such as name = transformer, or one to go on from: start = PATH")
        return self


class VectorsSettings(Settings):
    """Word vectors learned elsewhere, as GloVe and fastText write them, to begin the embeddings with."""

    path: str
    # Leave them as they are, instead of learning them further.
    frozen: bool = False
    # A word that is not there takes the vector of its lower-cased form.
    lower: bool = True


class LossSettings(Settings):
    """How far targets are smoothed towards all pieces alike."""

    smoothing: Rate = 0.1


class AgreeingLoss(LossSettings):
    """With `agreement` a batch is read twice, other numbers dropped, and the two predictions are to agree: 5 as a rule
    for translation, 1 for classification (R-Drop, Liang et al. 2021). An update takes twice as long."""

    agreement: NonNegativeFloat = 0.0


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
    # How a bundle's matrices are held once it is loaded; int8 rounds them to 255 steps (see `nn.small`).
    weights: Literal["float32", "int8"] = "float32"
    data: DataSettings
    model: ModelPart
    vectors: VectorsSettings | None = None
    tuning: TuningSettings = TuningSettings()
    batches: BatchSettings = BatchSettings()
    loss: LossSettings = LossSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    train: FitSettings = FitSettings()
    validation: ValidationSettings = ValidationSettings()
    search: SearchSettings = SearchSettings()
    metrics: tuple[Part, ...] = ()
    # Write the log's numbers for TensorBoard as well, into the run's folder.
    tensorboard: bool = False

    @model_validator(mode="after")
    def _whole_matrices(self) -> Self:
        if self.optimizer.name == "muon" and self.train.parallel == "fsdp":
            raise ValueError(
                "optimizer.name = 'muon' turns whole matrices, which with train.parallel = 'fsdp' no process has. Set "
                "train.parallel = 'ddp', or another optimizer"
            )
        return self
