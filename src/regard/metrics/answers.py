"""Exact match and F1 of answers, by the rules of SQuAD (Rajpurkar et al. 2016, 2018); the empty text is "no answer"."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from regard.errors import DataError
from regard.metrics.metric import Metric, References, f1, own_signature

Lines = Literal["all", "answerable", "unanswerable"]

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_NO_MARKS = str.maketrans("", "", string.punctuation)


def normalized(answer: str) -> str:
    """The answer as SQuAD compares it: lower case, no ASCII punctuation, no English articles, single spaces.

    >>> normalized("The  U.S. Army's  a-team")
    'us armys ateam'
    """
    # Punctuation goes before articles: "a-team" has none left.
    bare = answer.lower().translate(_NO_MARKS)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def right_ones(allowed: Sequence[str]) -> list[str]:
    """The references of a question, normalized, of which something is left; it is answerable if there is one."""
    return list(filter(None, map(normalized, allowed)))


def overlap(said: str, right: str) -> float:
    """F1 of the words of two normalized answers; where one is "no answer", whether both are."""
    if not said or not right:
        return 100.0 * (said == right)
    ours, theirs = said.split(), right.split()
    return f1((Counter(ours) & Counter(theirs)).total(), len(ours), len(theirs))


class AnswerExact(Metric):
    """The share of answers equal to a right one once both are normalized.

    As in SQuAD 2.0, a question that has an answer is not answered by silence: empty references count only where there
    are no others. `lines` = "answerable" or "unanswerable" scores one half of the questions.
    """

    name = "answer_exact"

    def __init__(self, *, lines: Lines = "all") -> None:
        self.lines = lines

    def judged(self, said: str, right: str) -> float:
        """From 0 to 100, for two normalized answers."""
        return 100.0 * (said == right)

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        rows = [self._row(output, allowed) for output, allowed in zip(outputs, references, strict=True)]
        if not any(counted for _, counted in rows):
            raise DataError(f"None of the {len(rows)} questions is {self.lines}; there is nothing to score.")
        return np.array(rows, dtype=np.float64)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        # A line of the other half has no value of its own.
        return float(totals[0] / totals[1]) if totals[1] else float("nan")

    def signature(self, references: References) -> str:
        return own_signature(references, norm="squad", noanswer="v2.0", lines=self.lines, reference="best")

    def _row(self, output: str, allowed: Sequence[str]) -> tuple[float, int]:
        right = right_ones(allowed)
        if self.lines != "all" and bool(right) != (self.lines == "answerable"):
            return 0.0, 0
        said = normalized(output)
        return max(self.judged(said, answer) for answer in right or [""]), 1


class AnswerF1(AnswerExact):
    """The mean over questions of F1 between the words of the answer and of the right one nearest to it."""

    name = "answer_f1"

    def judged(self, said: str, right: str) -> float:
        return overlap(said, right)
