"""What changes when one part of the input is covered."""

from typing import Self

import numpy as np
from jaxtyping import Bool
from pydantic import PositiveInt, model_validator

from regard.explain.attribution import Attribution
from regard.explain.groups import Groups, PerturbationSettings
from regard.explain.subject import Subject
from regard.explain.versions import Versions

CAVEAT = (
    "Occlusion takes away one part at a time: two words that say the same look unimportant both, and a text with a "
    "hole may be unlike anything the model has learned from."
)


class OcclusionSettings(PerturbationSettings):
    """Spans slide over the words by `step`; a word's weight is the mean over the spans it is in."""

    step: PositiveInt = 1

    @model_validator(mode="after")
    def _covering(self) -> Self:
        if self.of == "spans" and self.step > self.size:
            raise ValueError(f"step = {self.step} is more than size = {self.size}, so words would be left out")
        return self

    def cost(self, groups: int) -> int:
        """How many versions are scored at most."""
        return groups + 1


def occlusion(subject: Subject, settings: OcclusionSettings) -> Attribution:
    """F(x) - F(x without the part), for each output   (Zeiler and Fergus 2014, section 4.2)."""
    by_word = settings.model_copy(update={"of": "words"}) if settings.of == "spans" else settings
    versions = Versions(subject, by_word)
    covered_NG = _covered(versions.groups, settings)
    drops_NO = versions.whole() - versions(~covered_NG)
    values_OG = drops_NO.T @ covered_NG / covered_NG.sum(axis=0)
    return Attribution(
        method="occlusion",
        outputs=subject.outputs,
        inputs=versions.groups.axis,
        weights=versions.groups.spread(values_OG),
        signed=True,
        source=settings.said + (f", moved by {settings.step}" if settings.of == "spans" else ""),
        caveat=CAVEAT,
    )


def _covered(groups: Groups, settings: OcclusionSettings) -> Bool[np.ndarray, "N G"]:
    """What each version covers: one group, or a span of words that reaches over nothing special."""
    if settings.of != "spans":
        return np.eye(len(groups), dtype=bool)
    rows = []
    for run in groups.runs():
        # The last span may be cut short, so that every word is in one.
        for start in range(0, max(len(run) - settings.size, 0) + settings.step, settings.step):
            rows.append(np.isin(np.arange(len(groups)), run[start : start + settings.size]))
    return np.stack(rows)
