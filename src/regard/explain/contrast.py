"""Why this and not that: one output of a subject, and the difference between two subjects."""

from dataclasses import replace

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import RequestError
from regard.explain.attribution import Axis
from regard.explain.subject import Look, Subject


class One:
    """A subject of which one output alone is explained, by its score; attention has rows for all of them."""

    def __init__(self, subject: Subject, output: int) -> None:
        if not 0 <= output < len(subject.outputs):
            raise RequestError(
                f"Output {output} does not exist: the outputs are numbered 0 to {len(subject.outputs) - 1}; choose one."
            )
        self._subject, self._output = subject, output
        self.model, self.inputs, self.pieces = subject.model, subject.inputs, subject.pieces
        self.blank, self.embedded = subject.blank, subject.embedded
        self.looks: tuple[Look, ...] = ()
        self.outputs = Axis(subject.outputs.text, (subject.outputs.units[output],))

    def scores(self, pieces: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None = None) -> Float[Tensor, "N 1"]:
        return self._subject.scores(pieces, real)[:, self._output, None]


class Contrast:
    """log p(a) - log p(b) as a subject: what speaks for one and against the other   (Yin and Neubig 2022)."""

    def __init__(self, subject: Subject, other: Subject) -> None:
        _comparable(subject, other)
        self._subject, self._other = subject, other
        self.model, self.inputs, self.pieces = subject.model, subject.inputs, subject.pieces
        self.blank, self.looks, self.embedded = subject.blank, subject.looks, subject.embedded
        pairs = zip(subject.outputs.units, other.outputs.units, strict=True)
        # Two outputs stand at no one place of a text: without a span they keep their name where pieces become words.
        units = tuple(replace(a, text=f"{a.text} not {b.text}", span=None) if a.text != b.text else a for a, b in pairs)
        self.outputs = Axis(subject.outputs.text, units)

    def scores(self, pieces: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None = None) -> Float[Tensor, "N O"]:
        return self._subject.scores(pieces, real) - self._other.scores(pieces, real)


def contrast(subject: Subject, other: Subject, output: int | None = None) -> Contrast:
    """Why `subject`'s outputs and not `other`'s, or one of them, where what comes after need not be as long."""
    if output is None:
        return Contrast(subject, other)
    return Contrast(One(subject, output), One(other, output))


def instead(subject: Subject, other: Subject) -> Contrast:
    """Why `subject` goes on as it does where the other would first have gone on otherwise.

    Up to there both have written the same, so one score stands against the other; behind it they have not.
    """
    ours, theirs = ([unit.text for unit in one.outputs.units] for one in (subject, other))
    places = [place for place, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b]
    if not places:
        raise RequestError(
            f"{other.outputs.text[:60]!r} is what is put out, or its beginning, so there is nothing to set against it; "
            "give another output."
        )
    return contrast(subject, other, places[0])


def _comparable(subject: Subject, other: Subject) -> None:
    if subject.model is not other.model or subject.pieces.tolist() != other.pieces.tolist():
        raise RequestError(
            "The two alternatives are of different models or inputs, so their difference is not of one text; "
            "give two outputs of one model for one text."
        )
    if len(subject.outputs) != len(other.outputs):
        raise RequestError(
            f"The alternatives have {len(subject.outputs)} and {len(other.outputs)} outputs, which cannot be set "
            "against each other one by one; say which output is meant."
        )
