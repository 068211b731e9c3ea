"""When to give no answer, chosen where the right ones are known; and how both kinds of question fare."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any, Literal

from regard.metrics import score, score_lines
from regard.metrics.answers import right_ones
from regard.tasks.finding import Answer

References = Sequence[Sequence[str]]
# Past the last score, where everything is to be answered, or nothing.
BEYOND = 1.0


@dataclass(frozen=True)
class Half:
    """Questions of one kind, and how their answers score."""

    questions: int
    exact: float
    f1: float


@dataclass(frozen=True)
class Halves:
    """Questions that have an answer, those that have none, and the F1 of always saying so."""

    answerable: Half
    unanswerable: Half
    silence: float

    def __str__(self) -> str:
        lines = [
            f"{name:13} {half.questions:6,} questions, exact {half.exact:.2f}, F1 {half.f1:.2f}"
            for name, half in (("answerable", self.answerable), ("unanswerable", self.unanswerable))
        ]
        return "\n".join([*lines, f'always "no answer" would score {self.silence:.2f}'])

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def halves(texts: Sequence[str], references: References) -> Halves | None:
    """How either kind of question was answered; None where all are of one kind."""
    answerable = [bool(right_ones(allowed)) for allowed in references]
    if len(set(answerable)) < 2:
        return None

    def half(lines: Literal["answerable", "unanswerable"]) -> Half:
        values = (
            score(texts, references, {"name": name, "lines": lines}).value for name in ("answer_exact", "answer_f1")
        )
        return Half(answerable.count(lines == "answerable"), *values)

    return Halves(half("answerable"), half("unanswerable"), 100 * answerable.count(False) / len(answerable))


def threshold(results: Sequence[Answer], references: References) -> float | Literal["never"]:
    """The score below which to give no answer, for the best F1 of these; "never" where each question has one.

    `results` are what is answered if there always is an answer. The threshold lies halfway between two scores.
    """
    if all(any(allowed) for allowed in references):
        return "never"
    texts = [result.text for result in results]
    answered = score_lines(texts, references, "answer_f1")
    silent = score_lines([""] * len(texts), references, "answer_f1")
    order = sorted(range(len(results)), key=lambda number: -results[number].score)
    scores = [results[number].score for number in order]
    gains = list(accumulate((answered[number] - silent[number] for number in order), initial=0.0))
    edges = [scores[0] + 2 * BEYOND, *scores, scores[-1] - 2 * BEYOND]
    # Equal scores are answered together or not at all.
    possible = [count for count in range(len(gains)) if edges[count] > edges[count + 1]]
    best = max(possible, key=lambda count: (gains[count], -abs(edges[count] + edges[count + 1])))
    return (edges[best] + edges[best + 1]) / 2
