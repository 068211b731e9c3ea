"""The settings of a run's loop."""

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from regard.config import Settings
from regard.train.averaging import AverageSettings
from regard.train.precision import Precision

# What `updates` is when only epochs are asked for.
UNLIMITED = 10**9


class FitSettings(Settings):
    """How many updates of what size, how often to look, when to stop."""

    # The run ends with whichever comes first. Given `epochs` alone, updates do not end it.
    updates: PositiveInt = 10_000
    epochs: PositiveInt | None = None
    # Ends this sitting, not the run: resumed, it goes on as if it had not stopped, for as many minutes again.
    minutes: PositiveFloat | None = None
    accumulate: PositiveInt = 1
    clip: PositiveFloat | None = 1.0
    every: PositiveInt = 500
    # How often the log is told of training, in updates.
    log: PositiveInt = 50
    # The score that decides which update was best; `loss` is of validation and the lower the better.
    watch: str = "loss"
    higher: bool = False
    patience: PositiveInt | None = None
    # What to do about a loss or gradient that is not a number: stop and name the batch, or leave it out and count.
    nonfinite: Literal["stop", "skip"] = "stop"
    # `auto` is bfloat16 (else float16) on a GPU and float32 elsewhere.
    precision: Precision = "float32"
    # How much of the average of the parameters stays at each update, 0.999 for one; evaluation then uses the average.
    ema: Annotated[float, Field(gt=0, lt=1)] | None = None
    average: AverageSettings | None = None
    # true, or the name of a backend of torch.compile.
    compile: bool | str = False
    # How several processes hold the model: each all of it (ddp), or each a part (fsdp).
    parallel: Literal["ddp", "fsdp"] = "ddp"
    # Whether with fsdp every process writes its own part of a checkpoint, instead of the first all of it.
    sharded: bool = False
    # Whether layers keep only their inputs for backward and are computed twice: less memory for more work.
    recompute: bool = False
    # Whether the command lets its process keep the memory that each update frees and the next asks for (glibc only).
    keep_memory: bool = True
    # Seconds a process waits for the others at one step before it gives up.
    timeout: PositiveFloat = 600.0

    @model_validator(mode="before")
    @classmethod
    def _epochs_alone(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("epochs") is not None and "updates" not in values:
            return {**values, "updates": UNLIMITED}
        return values

    def planned(self, batches: int) -> int:
        """The updates a run comes to when an epoch has so many batches; what a schedule must know."""
        if self.epochs is None:
            return self.updates
        return min(self.updates, -(-self.epochs * batches // self.accumulate))
