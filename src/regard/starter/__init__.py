"""Small corpora that the demo and the tests make for themselves."""

from regard.starter.phrasebook import PAIRS, Phrasebook, phrasebook, possible, write_phrasebook
from regard.starter.strings import ALPHABET, reversal

__all__ = ["ALPHABET", "PAIRS", "Phrasebook", "phrasebook", "possible", "reversal", "write_phrasebook"]
