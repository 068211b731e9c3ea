"""The parameters of the last or the best evaluated updates, kept beside a run and averaged at its end.

    kept = Kept(run / "kept", settings, run / "checkpoints")
    kept.resume(progress.update)
    for step in fit(...):
        if step.scores:
            kept.add(step.progress.update, step.scores["loss"], learner.parameters())
        ...                                     save the checkpoint only now
    averaged(kept.paths())

What a resumed run keeps is what the unbroken run keeps: entries that any checkpoint still there would need are left in
place, and `resume` drops those made after it. For that an entry must be added before the checkpoint of its update.
"""

import math
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field
from torch import Tensor

from regard.config import Settings
from regard.errors import DataError
from regard.train import checkpoints
from regard.train.checkpoints import Checkpoint

GROUP = "parameters"


class AverageSettings(Settings):
    """Which evaluated updates to average."""

    what: Literal["last", "best"] = "last"
    count: int = Field(default=5, ge=1)


class Entry(NamedTuple):
    """An evaluated update whose parameters are kept."""

    update: int
    score: float
    path: Path


class Kept:
    """The parameters of the last or best few evaluated updates, each in a folder with checksums."""

    def __init__(
        self, folder: Path, settings: AverageSettings, checkpoints: Path | None = None, higher: bool = False
    ) -> None:
        self.folder, self.settings, self.checkpoints, self.higher = folder, settings, checkpoints, higher

    def add(self, update: int, score: float, parameters: Mapping[str, Tensor]) -> None:
        """Keep these parameters if they are among the last or best, and drop what nobody needs any more."""
        entry = Entry(update, score, checkpoints.place(self.folder, update))
        earlier = [other for other in self._entries() if other.update < update]
        if entry in self._chosen([*earlier, entry], update):
            checkpoints.save(self.folder, Checkpoint(update, {GROUP: parameters}, {"score": score}), keep=None)
        self._prune(update)

    def resume(self, update: int) -> list[str]:
        """Go on from this update: drop what was kept after it, and what is damaged, with a sentence for each such."""
        troubles = []
        for path in checkpoints.found(self.folder):
            try:
                late = checkpoints.load(path).update > update
            except DataError as error:
                troubles.append(str(error))
                late = True
            if late:
                shutil.rmtree(path)
        return troubles

    def paths(self) -> list[Path]:
        """The folders to average, the earliest update first."""
        return [entry.path for entry in sorted(self._chosen(self._entries(), None))]

    def _entries(self) -> list[Entry]:
        """All that lies there, the earliest first."""
        found = [(path, *checkpoints.facts(path)) for path in checkpoints.found(self.folder)]
        return [Entry(update, facts["score"], path) for path, update, facts in reversed(found)]

    def _chosen(self, entries: list[Entry], moment: int | None) -> list[Entry]:
        """Those a run that stands at `moment` would average."""
        known = [entry for entry in entries if moment is None or entry.update <= moment]
        if self.settings.what == "best":
            known.sort(key=lambda entry: (self._cost(entry.score), entry.update))
            return known[: self.settings.count]
        return known[-self.settings.count :]

    def _cost(self, score: float) -> float:
        if math.isnan(score):
            return math.inf
        return -score if self.higher else score

    def _prune(self, update: int) -> None:
        """Drop what no checkpoint needs, and entries after `update`: the run that made those was taken back."""
        entries = self._entries()
        stored = checkpoints.found(self.checkpoints) if self.checkpoints else []
        moments = [update, *(moment for moment in map(checkpoints.number, stored) if moment < update)]
        needed = {entry.path for moment in moments for entry in self._chosen(entries, moment)}
        for entry in entries:
            if entry.path not in needed:
                shutil.rmtree(entry.path, ignore_errors=True)


def averaged(sources: Iterable[Path | Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several sets of parameters, summed in float64; whole numbers are those of the last set."""
    sums: dict[str, Tensor] = {}
    last: Mapping[str, Tensor] = {}
    number = 0
    for source in sources:
        number += 1
        last = checkpoints.load(source).tensors[GROUP] if isinstance(source, Path) else source
        _check(last, sums, source)
        for name, tensor in last.items():
            sums[name] = tensor.double() + sums.get(name, 0.0)
    if not number:
        raise DataError("There are no parameters to average: nothing has been evaluated yet.")
    return {name: _mean(sums[name], number, tensor) for name, tensor in last.items()}


def _mean(total: Tensor, number: int, last: Tensor) -> Tensor:
    return (total / number).to(last.dtype) if last.is_floating_point() else last.clone()


def _check(tensors: Mapping[str, Tensor], sums: Mapping[str, Tensor], source: Path | Mapping[str, Tensor]) -> None:
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    if sums and shapes != {name: tensor.shape for name, tensor in sums.items()}:
        place = source if isinstance(source, Path) else "One of the sets of parameters"
        raise DataError(f"{place} belongs to another model than those before it; they have no average.")
