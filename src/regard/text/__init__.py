"""Text: tokenizers, words and sentences with their spans, links between words, marks, glossaries, vectors."""

from regard.text.alignment import Link, aer, links, pairs, pharaoh, read_pharaoh
from regard.text.chat import CHATS, Chat, ChatSettings, encode_chat, recognized
from regard.text.encoded import Encoded
from regard.text.foreign import ForeignTokenizer, Specials, restored
from regard.text.foreign_files import Frame, read_longest, read_template, read_tokenizer
from regard.text.glossary import Entry, Glossary, Receipt, receipt
from regard.text.kinds import BEGIN, END, PADDING, SPECIALS, TOKENIZERS, UNKNOWN
from regard.text.languages import tag, tagged, tags
from regard.text.placeholders import PATTERNS, Extracted, extract, restore
from regard.text.restoring import Mark
from regard.text.sentences import parts, sentences
from regard.text.settings import TokenizerSettings
from regard.text.spans import Word, words, words_of
from regard.text.tokenizers import Change, Tokenizer
from regard.text.tokenizing import Cut, Streaming, Tokenizing
from regard.text.vectors import Vectors, read_vectors

__all__ = [
    "BEGIN",
    "CHATS",
    "END",
    "PADDING",
    "PATTERNS",
    "SPECIALS",
    "TOKENIZERS",
    "UNKNOWN",
    "Change",
    "Chat",
    "ChatSettings",
    "Cut",
    "Encoded",
    "Entry",
    "Extracted",
    "ForeignTokenizer",
    "Frame",
    "Glossary",
    "Link",
    "Mark",
    "Receipt",
    "Specials",
    "Streaming",
    "Tokenizer",
    "TokenizerSettings",
    "Tokenizing",
    "Vectors",
    "Word",
    "aer",
    "encode_chat",
    "extract",
    "links",
    "pairs",
    "parts",
    "pharaoh",
    "read_longest",
    "read_pharaoh",
    "read_template",
    "read_tokenizer",
    "read_vectors",
    "receipt",
    "recognized",
    "restore",
    "restored",
    "sentences",
    "tag",
    "tagged",
    "tags",
    "words",
    "words_of",
]
