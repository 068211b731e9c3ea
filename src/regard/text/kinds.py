"""The kinds of tokenizer: how each cuts text, learns its pieces, and puts them together again.

To add one: write its class, add it to TOKENIZERS.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tokenizers import Regex, models, pre_tokenizers, trainers
from tokenizers.models import Model
from tokenizers.pre_tokenizers import PreTokenizer

from regard.errors import DataError
from regard.text.detokenization import join_words
from regard.text.learning import frequent, trained, without
from regard.text.patterns import RUN, WORD
from regard.text.unigram import LONGEST, learn_scores

SPECIALS = ("<padding>", "<begin>", "<end>", "<unknown>")
PADDING, BEGIN, END, UNKNOWN = range(4)

_UNKNOWN = SPECIALS[UNKNOWN]
_SPACE = "▁"
_CONTINUED = "##"


@dataclass(frozen=True)
class Vocabulary:
    """Pieces in the order of their ids, and what the kind needs besides: merges, or the scores of the pieces."""

    pieces: tuple[str, ...]
    merges: tuple[tuple[str, str], ...] = ()
    scores: tuple[float, ...] = ()

    @property
    def ids(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self.pieces)}


@dataclass(frozen=True)
class Asked:
    """What a vocabulary should be: the pieces it begins with, its size with them, the least count of a piece."""

    fixed: tuple[str, ...]
    size: int
    least: int

    @property
    def room(self) -> int:
        return self.size - len(self.fixed)


class Kind:
    """One kind of tokenizer."""

    # What decode(encode(text)) keeps of a text, for the reader of a report.
    keeps: ClassVar[str]
    # Whether a text is read as if a space stood before it, so that its first word has the pieces it has elsewhere.
    after_space: ClassVar[bool] = False
    # Pieces there must be room for.
    fewest: ClassVar[int] = 1

    def splitter(self) -> PreTokenizer:
        """Cuts a text into the stretches that no piece crosses."""
        raise NotImplementedError

    def learn(self, texts: list[str], asked: Asked) -> Vocabulary:
        raise NotImplementedError

    def model(self, vocabulary: Vocabulary) -> Model:
        """Cuts such a stretch into pieces."""
        raise NotImplementedError

    def join(self, pieces: Sequence[str], extra: frozenset[str]) -> str:
        """The text of these pieces; `extra` pieces stand for themselves."""
        raise NotImplementedError


class Bpe(Kind):
    """Byte-pair encoding over characters   (Sennrich et al. 2016)."""

    keeps = "everything but characters it never learned, and ▁, which comes back as a space"
    after_space = True

    def splitter(self) -> PreTokenizer:
        runs = pre_tokenizers.Split(Regex(RUN), "isolated")
        return pre_tokenizers.Sequence([runs, pre_tokenizers.Metaspace(_SPACE, "never", split=False)])

    def learn(self, texts: list[str], asked: Asked) -> Vocabulary:
        _, rare = frequent(texts, asked.room, asked.least)
        return self._merged(without(texts, rare), asked, alphabet=[])

    def model(self, vocabulary: Vocabulary) -> Model:
        return models.BPE(vocabulary.ids, list(vocabulary.merges), unk_token=_UNKNOWN)

    def join(self, pieces: Sequence[str], extra: frozenset[str]) -> str:
        if extra.isdisjoint(pieces):
            return "".join(pieces).replace(_SPACE, " ")
        return "".join(piece if piece in extra else piece.replace(_SPACE, " ") for piece in pieces)

    def _merged(self, texts: list[str], asked: Asked, alphabet: list[str], longest: int | None = None) -> Vocabulary:
        trainer = trainers.BpeTrainer(
            vocab_size=asked.size,
            min_frequency=asked.least,
            special_tokens=list(asked.fixed),
            initial_alphabet=alphabet,
            max_token_length=longest,
            show_progress=False,
        )
        written = trained(models.BPE(), self.splitter(), trainer, texts)
        merges = tuple((first, second) for first, second in written["merges"])
        return Vocabulary(tuple(sorted(written["vocab"], key=written["vocab"].__getitem__)), merges)


class ByteBpe(Bpe):
    """Byte-pair encoding over the bytes of UTF-8, so that no text is unknown   (Radford et al. 2019, 2.2)."""

    keeps = "everything"
    fewest = 256

    def splitter(self) -> PreTokenizer:
        runs = pre_tokenizers.Split(Regex(RUN), "isolated")
        # Every piece covers all characters it holds a byte of, the space included.
        letters = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
        return pre_tokenizers.Sequence([runs, letters])

    def learn(self, texts: list[str], asked: Asked) -> Vocabulary:
        return self._merged(texts, asked, alphabet=sorted(_BYTES))

    def model(self, vocabulary: Vocabulary) -> Model:
        if missing := _BYTES.keys() - set(vocabulary.pieces):
            raise DataError(f"it has no piece for {len(missing)} of the 256 bytes")
        return super().model(vocabulary)

    def join(self, pieces: Sequence[str], extra: frozenset[str]) -> str:
        # Half a character, as a model may well put out, becomes U+FFFD.
        return b"".join(
            piece.encode() if piece in extra else bytes(map(_BYTES.__getitem__, piece)) for piece in pieces
        ).decode(errors="replace")


class Unigram(Bpe):
    """The likeliest pieces under a unigram model   (Kudo 2018)."""

    def learn(self, texts: list[str], asked: Asked) -> Vocabulary:
        _, rare = frequent(texts, asked.room, asked.least)
        texts = without(texts, rare)
        proposed = self._merged(texts, Asked(asked.fixed, len(asked.fixed) + 4 * asked.room, 1), [], LONGEST)
        splitter = self.splitter()
        words = Counter(word for text in texts for word, _ in splitter.pre_tokenize_str(text))
        scores = learn_scores(words, proposed.pieces[len(asked.fixed) :], asked.room)
        lowest = min(scores.values())
        return Vocabulary((*asked.fixed, *scores), scores=(*[lowest] * len(asked.fixed), *scores.values()))

    def model(self, vocabulary: Vocabulary) -> Model:
        return models.Unigram(list(zip(vocabulary.pieces, vocabulary.scores, strict=True)), unk_id=UNKNOWN)


class Words(Kind):
    """Whole words and single punctuation marks."""

    keeps = "known words and punctuation in order; spaces come back by the rule of `regard.text.detokenization`"

    def splitter(self) -> PreTokenizer:
        return pre_tokenizers.Split(Regex(WORD), "removed", invert=True)

    def learn(self, texts: list[str], asked: Asked) -> Vocabulary:
        trainer = trainers.WordLevelTrainer(
            vocab_size=asked.size, min_frequency=asked.least, special_tokens=list(asked.fixed), show_progress=False
        )
        written = trained(models.WordLevel(unk_token=_UNKNOWN), self.splitter(), trainer, texts)["vocab"]
        return Vocabulary(tuple(sorted(written, key=written.__getitem__)))

    def model(self, vocabulary: Vocabulary) -> Model:
        return models.WordLevel(vocabulary.ids, unk_token=_UNKNOWN)

    def join(self, pieces: Sequence[str], extra: frozenset[str]) -> str:
        return join_words(pieces)


class Spaced(Words):
    """What stands between spaces, for text that is cut into words already: phonemes, tags, prepared corpora."""

    keeps = "known words in order, with one space between them"

    def splitter(self) -> PreTokenizer:
        # A text that spells out "<end>" must not get the special piece of that name, so such a word loses its first.
        names = "|".join(SPECIALS).replace("<", "")
        return pre_tokenizers.Split(Regex(rf"<(?=(?:{names})(?:\s|$))|\S+"), "removed", invert=True)

    def join(self, pieces: Sequence[str], extra: frozenset[str]) -> str:
        return " ".join(pieces)


class WordPiece(Words):
    """The longest known piece first, within words; `##` marks what continues a word   (Schuster & Nakajima 2012)."""

    keeps = "words of known characters, up to 100 characters long, in order; spaces come back as for words"

    def learn(self, texts: list[str], asked: Asked) -> Vocabulary:
        # Every character may be needed twice: at the start of a word, and inside one.
        _, rare = frequent(texts, asked.room // 2, asked.least)
        texts = without(texts, rare)
        # The library numbers inner characters in the order of a random hash table; numbered by us, ties stay put.
        alphabet = sorted(set(self._merged(texts, Asked(asked.fixed, 0, 1))) - set(asked.fixed))
        pieces = self._merged(texts, Asked((*asked.fixed, *alphabet), asked.size, asked.least))
        return Vocabulary(tuple(pieces))

    def model(self, vocabulary: Vocabulary) -> Model:
        return models.WordPiece(vocabulary.ids, unk_token=_UNKNOWN, continuing_subword_prefix=_CONTINUED)

    def join(self, pieces: Sequence[str], extra: frozenset[str]) -> str:
        words: list[str] = []
        for piece in pieces:
            continued = piece.startswith(_CONTINUED) and piece not in extra
            if continued and words:
                words[-1] += piece.removeprefix(_CONTINUED)
            else:
                words.append(piece.removeprefix(_CONTINUED) if continued else piece)
        return join_words(words)

    def _merged(self, texts: list[str], asked: Asked) -> list[str]:
        trainer = trainers.WordPieceTrainer(
            vocab_size=asked.size,
            min_frequency=asked.least,
            special_tokens=list(asked.fixed),
            continuing_subword_prefix=_CONTINUED,
            show_progress=False,
        )
        written = trained(models.WordPiece(unk_token=_UNKNOWN), self.splitter(), trainer, texts)["vocab"]
        return sorted(written, key=written.__getitem__)


class Characters(Kind):
    """One piece a character (code point), spaces included."""

    keeps = "everything but characters it never learned"

    def splitter(self) -> PreTokenizer:
        return pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")

    def learn(self, texts: list[str], asked: Asked) -> Vocabulary:
        kept, _ = frequent(texts, asked.room, asked.least)
        return Vocabulary((*asked.fixed, *(character for character in kept if character not in asked.fixed)))

    def model(self, vocabulary: Vocabulary) -> Model:
        return models.WordLevel(vocabulary.ids, unk_token=_UNKNOWN)

    def join(self, pieces: Sequence[str], extra: frozenset[str]) -> str:
        return "".join(pieces)


def _byte_letters() -> dict[str, int]:
    """The byte each letter of a byte-level piece stands for: bytes that print in Latin-1 do, others are from U+0100."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printing]
    letters = {chr(byte): byte for byte in printing}
    return letters | {chr(0x100 + number): byte for number, byte in enumerate(others)}


_BYTES = _byte_letters()

TOKENIZERS: dict[str, type[Kind]] = {
    "bpe": Bpe,
    "byte_bpe": ByteBpe,
    "unigram": Unigram,
    "word_piece": WordPiece,
    "words": Words,
    "spaced": Spaced,
    "characters": Characters,
}
