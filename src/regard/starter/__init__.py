"""Small corpora that the demo and the tests make for themselves."""

from regard.starter.strings import ALPHABET, reversal

__all__ = ["ALPHABET", "reversal"]
