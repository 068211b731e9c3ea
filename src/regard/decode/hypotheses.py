"""What is asked, what is found, and what lives in between."""

from dataclasses import dataclass
from typing import NamedTuple

Pieces = tuple[int, ...]


@dataclass(frozen=True)
class Request:
    """What one source asks for beyond the settings."""

    # What the output begins with.
    prefix: Pieces = ()
    # Entries; each is a choice of piece sequences, one of which has to appear.
    must: tuple[tuple[Pieces, ...], ...] = ()
    # Pieces that go on with a word: none of them may follow right after what had to appear.
    inside: frozenset[int] = frozenset()
    # Piece sequences that may not appear.
    avoid: tuple[Pieces, ...] = ()
    # What the output goes on with: what stands there is not repeated either, where nothing may be.
    before: Pieces = ()
    # Sampling: instead of a seed taken from the source's pieces.
    seed: int | None = None
    # The limit of the output, the end counted.
    longest: int | None = None


@dataclass(frozen=True)
class Hypothesis:
    """One output as it was found."""

    # Without the end.
    pieces: Pieces
    # What ranked it, penalties included.
    score: float
    # The sum of `piece_log_probabilities`.
    log_probability: float
    # One for each piece, and one for the end when complete; none where `search.probabilities` is off.
    piece_log_probabilities: tuple[float, ...]
    # False: stopped at the limit.
    complete: bool
    # For each entry of `must`: did it appear?
    met: tuple[bool, ...] = ()

    @property
    def length(self) -> int:
        """How many log-probabilities make its sum: of its pieces, and of the end when complete."""
        return len(self.pieces) + self.complete


class Progress(NamedTuple):
    """How far a hypothesis has come with what must appear: each alternative's matched pieces, each entry met or not."""

    matched: tuple[int, ...]
    met: tuple[bool, ...]


@dataclass(slots=True)
class Live:
    """A hypothesis that may still grow, and the row of the batch it stands in."""

    pieces: Pieces
    log_probabilities: tuple[float, ...]
    total: float
    row: int
    progress: Progress | None = None
    # The coverage penalty of the source as seen up to and including the step just taken.
    coverage: float = 0.0


class Candidate(NamedTuple):
    """A hypothesis and a piece that may follow it; `score` is what it is chosen by: its sum less `penalty`."""

    score: float
    parent: Live
    piece: int
    log_probability: float
    penalty: float = 0.0

    @property
    def pieces(self) -> Pieces:
        return (*self.parent.pieces, self.piece)

    def grown(self, progress: Progress | None = None) -> Live:
        """The hypothesis with the piece; it keeps its parent's row until the batch is put in order."""
        parent = self.parent
        known = (*parent.log_probabilities, self.log_probability)
        return Live(self.pieces, known, parent.total + self.log_probability, parent.row, progress, parent.coverage)


class Ended(NamedTuple):
    """A hypothesis that grows no more: its end was chosen, or the limit came first."""

    score: float
    pieces: Pieces
    log_probabilities: tuple[float, ...]
    complete: bool
