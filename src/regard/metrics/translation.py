"""BLEU, chrF and TER, computed by sacreBLEU (Post 2018) and signed by it."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib.metadata import version
from itertools import zip_longest
from typing import Literal

import numpy as np
from jaxtyping import Float
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.errors import ConfigError
from regard.metrics.metric import Metric, References, reference_count


class Sacre(Metric):
    """A metric of sacreBLEU by its own statistics, those its significance tests use."""

    def __init__(self, scorer: BLEU | CHRF | TER) -> None:
        self.scorer = scorer

    def statistics(self, outputs: Sequence[str], references: References) -> Float[np.ndarray, "lines columns"]:
        # From one list of references per line to one list per reference, None where a line has no more.
        by_number = list(zip_longest(*map(self.prepared, references)))
        rows = self.scorer._extract_corpus_statistics(self.prepared(outputs), by_number)
        return np.array(rows, dtype=np.float64)

    def prepared(self, texts: Sequence[str]) -> list[str]:
        """The texts as they are handed to sacreBLEU."""
        return list(texts)

    def value(self, totals: Float[np.ndarray, " columns"]) -> float:
        return float(self.scorer._compute_score_from_stats(totals.tolist()).score)

    def signature(self, references: References) -> str:
        self.scorer.num_refs = reference_count(references) or -1
        return self.scorer.get_signature().format()


class Bleu(Sacre):
    """BLEU, cased, on plain text (Papineni et al. 2002); `tokenizer` is sacreBLEU's, "zh" for Chinese."""

    name = "bleu"

    def __init__(self, *, tokenizer: Literal["13a", "intl", "zh", "char", "none"] = "13a") -> None:
        super().__init__(BLEU(tokenize=tokenizer))
        self.line_scorer = BLEU(tokenize=tokenizer, effective_order=True)

    def line_value(self, row: Float[np.ndarray, " columns"]) -> float:
        # A line of three words has no four in a row to get right.
        return float(self.line_scorer._compute_score_from_stats(row.tolist()).score)


class BleuLower(Bleu):
    """Tokenized lower-cased BLEU: both sides cut by the Moses rules of a language and lower-cased."""

    name = "bleu_lower"

    def __init__(self, *, language: str = "") -> None:
        if not language:
            raise ConfigError('bleu_lower needs the language of the text: { name = "bleu_lower", language = "de" }.')
        super().__init__(tokenizer="none")
        self.scorer = BLEU(tokenize="none", lowercase=True, force=True)
        self.language = language

    @cached_property
    def cutter(self) -> Callable[[str], str]:
        # Importing it takes half a second, and training begins long before anything is scored.
        from sacremoses import MosesTokenizer  # type: ignore[import-untyped]

        return partial(MosesTokenizer(lang=self.language).tokenize, return_str=True)

    def prepared(self, texts: Sequence[str]) -> list[str]:
        return [self.cutter(text) for text in texts]

    def signature(self, references: References) -> str:
        cut_by = f"moses.{self.language}-{version('sacremoses')}"
        return super().signature(references).replace("|tok:none|", f"|tok:{cut_by}|")


class Chrf(Sacre):
    """chrF: F-score of character n-grams (Popović 2015); with `words` = 2 it is chrF++."""

    name = "chrf"

    def __init__(self, *, words: Literal[0, 1, 2] = 0) -> None:
        super().__init__(CHRF(word_order=words))


class Ter(Sacre):
    """TER: edits and shifts per reference word (Snover et al. 2006)."""

    name = "ter"
    higher_is_better = False

    def __init__(self) -> None:
        super().__init__(TER())
