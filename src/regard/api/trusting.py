"""How good an output probably is, from its attention and probabilities, as learned on outputs of known quality."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.api.aligning import confidence
from regard.api.explaining import subject
from regard.errors import RequestError
from regard.explain.confidence import Calibration, Signals, signals

if TYPE_CHECKING:
    from regard.api.pipeline import Input, Pipeline


@dataclass(frozen=True)
class Trusted:
    """An output, the quality to expect of it from 0 to 1, and the signs that say so; no output has neither."""

    text: str
    expected: float | None = None
    signals: Signals | None = None


@dataclass(frozen=True)
class Trust:
    """Expected quality of outputs of one model; `calibration` says what that is worth."""

    pipeline: "Pipeline"
    calibration: Calibration

    @classmethod
    def learn(cls, pipeline: "Pipeline", rows: Sequence[Mapping[str, str]], measure: str = "chrf") -> "Trust":
        """From rows with references: outputs are made and compared with them by a metric of 0 to 100."""
        return cls(pipeline, confidence(pipeline, rows, measure))

    def __call__(self, given: "Input") -> Trusted:
        try:
            made = subject(self.pipeline, given)
        except RequestError:
            return Trusted("")
        found = signals(made)
        return Trusted(made.outputs.text, self.calibration.expected(found), found)
