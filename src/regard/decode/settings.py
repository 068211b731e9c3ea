"""The [search] table of a recipe."""

from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from regard.config import Part, Settings, make
from regard.decode.lengths import LENGTHS, Length
from regard.errors import RegardError, unknown

Share = Annotated[float, Field(gt=0, le=1)]
# Of what an output's limit is made: a model that never ends its text would write on to any limit.
Factor = Annotated[float, Field(ge=0, le=1000)]
Extra = Annotated[int, Field(ge=1, le=1_000_000)]
# Followed at once for each source: more would only ever end with memory or patience.
Hypotheses = Annotated[int, Field(ge=1, le=1000)]


class SearchSettings(Settings):
    """How outputs are looked for: `--set search.beams=5`, `--set search.length.name=wu`.

    The limit of an output, its end counted, is longest_factor x pieces of the source + longest_extra, unless the
    request brings its own.
    """

    method: str = "beam"
    beams: Hypotheses = 5
    # How many outputs each source gets; for sampling, how many samples are drawn.
    best: Hypotheses = 1
    length: Part = Part(name="average")
    # Weight of the coverage penalty (Wu et al. 2016, eq. 14); needs a model whose attention can be looked at.
    coverage: NonNegativeFloat = 0.0
    # first: stop once `beams` hypotheses have ended, so that one beam is greedy search. sure: go on until nothing
    # alive can still beat the last of the `best` ended ones.
    stop: Literal["first", "sure"] = "first"
    # Diverse beam search; None: as many groups as beams.
    groups: PositiveInt | None = None
    diversity: NonNegativeFloat = 0.5
    # Sampling; a piece has to pass all three filters, each judged on the whole distribution after the temperature.
    temperature: PositiveFloat = 1.0
    top_k: PositiveInt | None = None
    top_p: Share = 1.0
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    seed: int = 0
    # No sequence of this many pieces twice in one output, or in one of the parts a long text is split into; 0: any may
    # be repeated.
    no_repeat: NonNegativeInt = 0
    longest_factor: Factor = 2.0
    longest_extra: Extra = 20
    # Whether the probability of every piece is told; an engine that does not know them measures each output again.
    probabilities: bool = True
    # Log-probabilities of up to 20 pieces that differ by no more are not left to rounding, in proportion for more of
    # them (see `ties`).
    margin: PositiveFloat = 1e-4

    @field_validator("method")
    @classmethod
    def _known_method(cls, name: str) -> str:
        # Methods are made of settings, so they cannot be known before this class is.
        from regard.decode.methods import SEARCHES

        if name not in SEARCHES:
            raise ValueError(unknown("method", name, SEARCHES).rstrip("."))
        return name

    @field_validator("length")
    @classmethod
    def _known_length(cls, choice: Part) -> Part:
        try:
            make("length", LENGTHS, choice)
        except RegardError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return choice

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.method == "greedy" and self.best > 1:
            raise ValueError(f"best = {self.best}, but method = 'greedy' finds one output; use 'beam' or best = 1")
        if self.method in ("beam", "diverse") and self.best > self.beams:
            raise ValueError(f"best = {self.best} is more than beams = {self.beams}; raise beams or lower best")
        if self.method == "diverse" and self.beams % self.count_of_groups:
            raise ValueError(
                f"beams = {self.beams} cannot be shared evenly by groups = {self.groups}; choose one that divides it"
            )
        return self

    @property
    def count_of_groups(self) -> int:
        return self.groups or self.beams

    @property
    def width(self) -> int:
        """How many hypotheses of a source are followed at once."""
        return {"greedy": 1, "sample": self.best}.get(self.method, self.beams)

    @property
    def penalty(self) -> Length:
        """The length penalty by its name."""
        return make("length", LENGTHS, self.length)

    def limit(self, source_pieces: int) -> int:
        """The most pieces an output may have, the end counted."""
        return int(self.longest_factor * source_pieces) + self.longest_extra
