"""ROUGE (Lin 2004), computed by rouge-score."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from regard.metrics.metric import Metric, References, own_signature

Cut = Literal["words", "characters"]

# Han, kana, their iteration marks and half-width forms: the characters that `regard.text` takes as words.
_CJK = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK += "\uff66-\uff9f\U00020000-\U0003ffff"
_UNIT = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")


def characters(text: str) -> list[str]:
    """Chinese and Japanese characters one by one, all else in words; no punctuation.

    >>> characters("我爱Python 3。")
    ['我', '爱', 'Python', '3']
    """
    return _UNIT.findall(text)


class Characters:
    """A tokenizer for rouge-score that knows more than the letters a to z; it stems what rouge-score would."""

    def __init__(self, stem: bool) -> None:
        from rouge_score.tokenizers import DefaultTokenizer  # type: ignore[import-untyped]

        self.words = DefaultTokenizer(stem)

    def tokenize(self, text: str) -> list[str]:
        units = characters(text.lower())
        return [part for unit in units for part in (self.words.tokenize(unit) if unit.isascii() else [unit])]


class Rouge(Metric):
    """The mean over lines of an F-measure; of several references the best counts.

    "words" are runs of a-z and 0-9, as in ROUGE-1.5.5: no other script has any. "characters" cuts Chinese.
    """

    kind: ClassVar[str]

    def __init__(self, *, stem: bool = True, tokenizer: Cut = "words") -> None:
        # Importing it takes three seconds.
        from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]

        cutter = Characters(stem) if tokenizer == "characters" else None
        self.scorer = RougeScorer([self.kind], use_stemmer=stem, tokenizer=cutter)
        self.made = {"stem": "porter" if stem else "no", "tok": tokenizer}

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        rows = [(self._best(output, allowed), 1) for output, allowed in zip(outputs, references, strict=True)]
        return np.array(rows, dtype=np.float64)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return float(100 * totals[0] / totals[1])

    def signature(self, references: References) -> str:
        return own_signature(references, **self.made, version=f"rouge-score.{version('rouge-score')}")

    def _best(self, output: str, allowed: Sequence[str]) -> float:
        return float(self.scorer.score_multi(allowed, output)[self.kind].fmeasure)


class Rouge1(Rouge):
    """ROUGE-1: single words in common."""

    name = "rouge1"
    kind = "rouge1"


class Rouge2(Rouge):
    """ROUGE-2: pairs of neighbouring words in common."""

    name = "rouge2"
    kind = "rouge2"


class RougeL(Rouge):
    """ROUGE-L: the longest common subsequence of words."""

    name = "rougeL"
    kind = "rougeL"


class RougeLsum(Rouge):
    """ROUGE-Lsum: common subsequences sentence by sentence, united; a newline ends a sentence."""

    name = "rougeLsum"
    kind = "rougeLsum"
