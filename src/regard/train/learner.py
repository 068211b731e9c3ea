"""What learns, and all of its state in one checkpoint."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from regard.errors import DataError
from regard.nn.lora import folded
from regard.nn.losses import Loss
from regard.nn.parameters import fill, named
from regard.train import optimizers
from regard.train.checkpoints import Checkpoint
from regard.train.distributed import ALONE, Team
from regard.train.distributed_sharding import all_like, all_whole, gathered, like
from regard.train.ema import Ema
from regard.train.precision import Scaler
from regard.train.progress import Progress
from regard.train.schedules import Schedule

B = TypeVar("B")


@dataclass
class Learner(Generic[B]):
    """What learns, from what, and how: a module, the loss of a batch, an optimizer, a schedule."""

    model: nn.Module
    loss: Callable[[B], Loss]
    optimizer: torch.optim.Optimizer
    schedule: Schedule
    # Which examples a batch holds, in a few words, for the error that must name it.
    describe: Callable[[B], str] | None = None
    # Who else makes this run.
    team: Team = ALONE
    # Checksums of the data: positions in them, and all that was learned so far, mean nothing in others.
    data: Sequence[str] = ()
    # The checksum of validation, if it is known: the best score so far means nothing beside scores on other texts.
    validation: str = ""
    # Made by `fit` where its settings ask for them, or by `restore` where the checkpoint has them.
    scaler: Scaler | None = None
    ema: Ema | None = None

    def checkpoint(self, progress: Progress) -> Checkpoint:
        """All of the run's state at this moment, the same whatever the number of processes; all must ask for it."""
        stored = self.parts(progress)
        tensors = {group: all_whole(tensors) for group, tensors in stored.tensors.items()}
        return replace(stored, tensors=tensors)

    def parts(self, progress: Progress) -> Checkpoint:
        """What this process holds of that state: tensors in parts stay in parts."""
        tensors = {
            "parameters": named(self.model),
            "optimizer": optimizers.tensors(self.optimizer),
            "random": _random(),
        }
        facts: dict[str, Any] = {"progress": progress.facts(), "data": list(self.data), "validation": self.validation}
        if self.ema is not None:
            tensors["ema"], facts["ema"] = self.ema.averages, self.ema.count
        if self.scaler is not None:
            facts["scaler"] = self.scaler.facts()
        return Checkpoint(progress.update, tensors, facts)

    def restore(self, checkpoint: Checkpoint) -> Progress:
        """Put that state back, and go on from there as if nothing had happened."""
        for name, own_data in (("data", list(self.data)), ("validation", self.validation)):
            # Checkpoints of earlier versions do not know their data.
            if own_data and checkpoint.facts.get(name, own_data) not in (own_data, ""):
                which = "training data" if name == "data" else "validation data"
                raise DataError(
                    f"The {which} are not those of the checkpoint of update {checkpoint.update}. Put them back as they "
                    "were to go on, or start a new run with --out."
                )
        own = named(self.model)
        fill(self.model, all_like(checkpoint.tensors["parameters"], own), "The checkpoint")
        optimizers.load(self.optimizer, self._shared_out(checkpoint.tensors["optimizer"]))
        stored = checkpoint.tensors.get("ema")
        self.ema = None if stored is None else Ema.read(self.model, all_like(stored, own), checkpoint.facts["ema"])
        scaler = checkpoint.facts.get("scaler")
        self.scaler = None if scaler is None else Scaler(**scaler)
        _set_random(checkpoint.tensors["random"])
        return Progress.read(checkpoint.facts["progress"])

    def _shared_out(self, stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """An optimizer's whole state in parts, where its parameters lie in parts."""
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        numbered = {str(number): parameter for number, parameter in enumerate(parameters)}
        return {name: like(tensor, numbered.get(name.partition(".")[0])) for name, tensor in stored.items()}

    @contextmanager
    def smoothed(self) -> Iterator[None]:
        """Inside, the model is what evaluation sees and a bundle holds: with averaged parameters, if there are any.

        All of it is here, whoever else holds parts of it.
        """
        with self.ema.applied(self.model) if self.ema else nullcontext(), gathered(self.model):
            yield

    def parameters(self) -> Mapping[str, Tensor]:
        """The parameters evaluation sees, as a bundle names and holds them: what adapts layers is folded into them.

        They change with the next update unless copied.
        """
        tensors = named(self.model) if self.ema is None else self.ema.tensors(self.model)
        return folded(self.model, all_whole(tensors))


def _random() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    for device in range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0):
        states[f"cuda-{device}"] = torch.cuda.get_rng_state(device)
    return states


def _set_random(states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    for name, state in states.items():
        if name.startswith("cuda-"):
            torch.cuda.set_rng_state(state, int(name.removeprefix("cuda-")))
