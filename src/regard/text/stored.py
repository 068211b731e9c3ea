"""A tokenizer as one JSON text: settings and vocabulary, nothing that runs."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt

from regard.config import Settings
from regard.errors import ConfigError, DataError
from regard.text.kinds import Vocabulary
from regard.text.settings import TokenizerSettings

VERSION = 1

Piece = Annotated[str, Field(min_length=1)]
# Two pieces with a space between: no piece that takes part in a merge contains one.
Merge = Annotated[str, Field(pattern=r"^[^ ]+ [^ ]+$")]


class Origin(Settings):
    """How many lines a tokenizer was offered, and from how many it learned."""

    lines: NonNegativeInt
    used: NonNegativeInt


class Stored(Settings):
    """Everything a tokenizer is made of."""

    format: Literal["regard tokenizer"] = "regard tokenizer"
    version: int = VERSION
    settings: TokenizerSettings
    origin: Origin
    pieces: tuple[Piece, ...]
    merges: tuple[Merge, ...] = ()
    scores: tuple[FiniteFloat, ...] = ()

    @classmethod
    def of(cls, settings: TokenizerSettings, origin: Origin, vocabulary: Vocabulary) -> "Stored":
        merges = tuple(f"{first} {second}" for first, second in vocabulary.merges)
        return cls(settings=settings, origin=origin, pieces=vocabulary.pieces, merges=merges, scores=vocabulary.scores)

    @property
    def vocabulary(self) -> Vocabulary:
        merges = (merge.split(" ") for merge in self.merges)
        return Vocabulary(self.pieces, tuple((first, second) for first, second in merges), self.scores)

    def to_json(self) -> str:
        return json.dumps(self.model_dump(), ensure_ascii=False, indent=1)


def parse(text: str, place: str) -> Stored:
    """What `Stored.to_json` wrote; anything else is a DataError that says what is wrong with `place`."""
    try:
        written = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is not JSON ({error}); it was cut short or is another file.") from None
    if not isinstance(written, dict) or written.get("format") != "regard tokenizer":
        raise DataError(f"{place} is not a tokenizer Regard wrote; learn one, or name its own file.")
    if written.get("version") != VERSION:
        raise DataError(
            f"{place} has format {written.get('version')!r}, and this Regard reads format {VERSION}; "
            "use the Regard that wrote it, or learn the tokenizer again."
        )
    return _validated(written, place)


def _validated(written: dict[str, Any], place: str) -> Stored:
    try:
        stored = Stored.read(written)
    except ConfigError as error:
        raise DataError(f"{place} is damaged: {str(error).splitlines()[0]}") from None
    fixed = stored.settings.fixed
    if stored.pieces[: len(fixed)] != fixed or len(set(stored.pieces)) < len(stored.pieces):
        raise DataError(f"{place} is damaged: its pieces do not begin with {', '.join(fixed)}, or one occurs twice.")
    return stored
