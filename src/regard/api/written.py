"""What a run leaves in its folder while it goes: log, TensorBoard, kept parameters, checkpoints."""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from regard import train
from regard.train import Checkpoint, Kept, Log, Step, TensorBoard


class Written:
    """The files of a run, of which one process alone is the writer."""

    def __init__(self, folder: Path, kept: Kept, tensorboard: bool) -> None:
        self.folder, self.kept = folder, kept
        self.log = Log(folder / "log.jsonl")
        self.board = TensorBoard(folder / "tensorboard") if tensorboard else None

    def resume(self, update: int) -> list[str]:
        """Cut all of it back to this update; a sentence for each thing that was damaged."""
        lines = self.log.resume(update)
        if self.board:
            self.board.begin(lines)
        return self.kept.resume(update)

    def step(
        self, step: Step, watched: float | None, parameters: Mapping[str, Tensor], state: Checkpoint | None
    ) -> None:
        """Note an update; the checkpoint comes last, when all it goes with is there."""
        lines = self.log.write(step)
        if self.board:
            self.board.write(lines)
        if watched is not None:
            self.kept.add(step.progress.update, watched, parameters)
        if state is not None:
            train.save(self.folder / "checkpoints", state)

    def close(self) -> None:
        if self.board:
            self.board.close()
