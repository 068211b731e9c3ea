"""A bundle in memory, and the same under the settings requests bring along."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from regard.api import Pipeline
from regard.api.pipeline import inside
from regard.engines import exported
from regard.errors import ConfigError
from regard.serve.giving_up import interruptible
from regard.serve.settings import ServeSettings
from regard.serve.turns import Turn


@dataclass(frozen=True)
class Loaded:
    """A pipeline, whose turn it is to use its model, and the last few ways it was asked."""

    pipeline: Pipeline
    folder: Path
    most: int
    # When its parameters were written, in seconds since 1970.
    created: int = 0
    # Why the engine that was asked for does not run it.
    refusal: str = ""
    turn: Turn = field(default_factory=Turn)
    variants: OrderedDict[tuple[str, ...], Pipeline] = field(default_factory=OrderedDict)
    guard: Lock = field(default_factory=Lock)

    @classmethod
    def loader(cls, folder: Path, changes: Sequence[str], settings: ServeSettings) -> Callable[[], "Loaded"]:
        """What loads the bundle of a folder, as often as wanted."""

        def load() -> "Loaded":
            pipeline, refusal = run_by(Pipeline.load(folder, changes), folder, settings.engine)
            interruptible(pipeline.model)
            written = int((inside(folder) / "manifest.json").stat().st_mtime)
            return cls(pipeline, folder, settings.variants, written, refusal)

        return load

    @property
    def engine(self) -> str:
        """What predicts."""
        return "torch" if self.pipeline.engine is None else self.pipeline.engine.name

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


def run_by(pipeline: Pipeline, folder: Path, engine: str) -> tuple[Pipeline, str]:
    """The same run by an engine; or as it is, and why the engine cannot."""
    if engine == "torch":
        return pipeline, ""
    try:
        return pipeline.with_engine(engine, exported(folder, engine)), ""
    except ConfigError as error:
        return pipeline, str(error)
