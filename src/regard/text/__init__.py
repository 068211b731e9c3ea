"""Text: tokenizers and what they keep of it, words and their spans, pretrained vectors."""

from regard.text.encoded import Encoded
from regard.text.kinds import BEGIN, END, PADDING, SPECIALS, TOKENIZERS, UNKNOWN
from regard.text.settings import TokenizerSettings
from regard.text.spans import Word, words
from regard.text.tokenizers import Change, Tokenizer
from regard.text.vectors import Vectors, read_vectors

__all__ = [
    "BEGIN",
    "END",
    "PADDING",
    "SPECIALS",
    "TOKENIZERS",
    "UNKNOWN",
    "Change",
    "Encoded",
    "Tokenizer",
    "TokenizerSettings",
    "Vectors",
    "Word",
    "read_vectors",
    "words",
]
