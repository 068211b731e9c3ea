"""The engine ctranslate2."""

from regard.engines.ctranslate2.making import by_ctranslate2, run
from regard.engines.ctranslate2.searching import CTranslate2Searcher

__all__ = ["CTranslate2Searcher", "by_ctranslate2", "run"]
