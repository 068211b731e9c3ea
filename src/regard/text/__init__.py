"""Text: tokenizers, words and sentences with their spans, links between words, marks, glossaries, vectors."""

from regard.text.alignment import Link, aer, links, pairs, pharaoh, read_pharaoh
from regard.text.encoded import Encoded
from regard.text.glossary import Entry, Glossary, Receipt, receipt
from regard.text.kinds import BEGIN, END, PADDING, SPECIALS, TOKENIZERS, UNKNOWN
from regard.text.languages import tag, tagged, tags
from regard.text.placeholders import PATTERNS, Extracted, extract, restore
from regard.text.restoring import Mark
from regard.text.sentences import parts, sentences
from regard.text.settings import TokenizerSettings
from regard.text.spans import Word, words, words_of
from regard.text.tokenizers import Change, Tokenizer
from regard.text.vectors import Vectors, read_vectors

__all__ = [
    "BEGIN",
    "END",
    "PADDING",
    "PATTERNS",
    "SPECIALS",
    "TOKENIZERS",
    "UNKNOWN",
    "Change",
    "Encoded",
    "Entry",
    "Extracted",
    "Glossary",
    "Link",
    "Mark",
    "Receipt",
    "Tokenizer",
    "TokenizerSettings",
    "Vectors",
    "Word",
    "aer",
    "extract",
    "links",
    "pairs",
    "parts",
    "pharaoh",
    "read_pharaoh",
    "read_vectors",
    "receipt",
    "restore",
    "sentences",
    "tag",
    "tagged",
    "tags",
    "words",
    "words_of",
]
