"""The engine that is fastest here, for this model under these settings: found by a short measurement.

Every engine that can do what is asked predicts the same few inputs; all give the same results, so that only their time
decides.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.api.pipeline import Input, Pipeline
from regard.engines import exported
from regard.errors import RegardError

# So many inputs are measured; of fewer than `LEAST` in all, measuring costs more than it can gain.
SAMPLE, LEAST = 64, 500
WARM = 8


@dataclass(frozen=True)
class Way:
    """A pipeline with one of its engines, and how many inputs a second it predicted."""

    pipeline: Pipeline
    rate: float

    def __str__(self) -> str:
        name = self.pipeline.engine.name if self.pipeline.engine else "torch"
        return f"{name} {self.rate:,.0f}"


def ways(pipeline: Pipeline, folder: Path, sample: Sequence[Input]) -> list[Way]:
    """The ways there are to predict the sample, the fastest first; none where it cannot be predicted."""
    return sorted(_measured(pipeline, folder, sample), key=lambda way: -way.rate)


def _measured(pipeline: Pipeline, folder: Path, sample: Sequence[Input]) -> Iterator[Way]:
    """Each predicts a few inputs first, so that it is warm."""
    export = exported(folder, "ctranslate2")
    # An export may be quantized; whoever names one wants its results and not those of the bundle inside. How many
    # workers share the threads is not tried: beside a torch that has used threads, all other numbers crawl.
    for name in ["ctranslate2"] if export else ["torch", "ctranslate2"]:
        try:
            made = pipeline.with_engine(name, export)
            made.predict(sample[:WARM])
            rate = _rate(made, sample)
        # Not installed, cannot express the model, cannot do what is asked; whoever predicts says what is wrong with an
        # input.
        except RegardError:
            continue
        yield Way(made, rate)


def _rate(pipeline: Pipeline, sample: Sequence[Input]) -> float:
    began = time.perf_counter()
    pipeline.predict(sample)
    return len(sample) / (time.perf_counter() - began)
