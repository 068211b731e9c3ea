"""A bundle in memory, and the same under the settings requests bring along."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from regard.api import Pipeline
from regard.api.pipeline import inside
from regard.serve.giving_up import interruptible
from regard.serve.turns import Turn


@dataclass(frozen=True)
class Loaded:
    """A pipeline, whose turn it is to use its model, and the last few ways it was asked."""

    pipeline: Pipeline
    folder: Path
    most: int
    # When its parameters were written, in seconds since 1970.
    created: int = 0
    turn: Turn = field(default_factory=Turn)
    variants: OrderedDict[tuple[str, ...], Pipeline] = field(default_factory=OrderedDict)
    guard: Lock = field(default_factory=Lock)

    @classmethod
    def loader(cls, folder: Path, changes: Sequence[str], most: int) -> Callable[[], "Loaded"]:
        """What loads the bundle of a folder, as often as wanted."""

        def load() -> "Loaded":
            pipeline = Pipeline.load(folder, changes)
            interruptible(pipeline.model)
            return cls(pipeline, folder, most, int((inside(folder) / "manifest.json").stat().st_mtime))

        return load

    def variant(self, changes: tuple[str, ...]) -> Pipeline:
        """The same model under other settings; those asked for last are kept."""
        if not changes:
            return self.pipeline
        with self.guard:
            if changes not in self.variants:
                self.variants[changes] = self.pipeline.with_settings(*changes)
            self.variants.move_to_end(changes)
            while len(self.variants) > self.most:
                self.variants.popitem(last=False)
            return self.variants[changes]
