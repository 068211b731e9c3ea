"""From text to pieces and back.

>>> tokenizer = Tokenizer.learn(TokenizerSettings(kind="bpe", size=40), ["low lower lowest"], seed=1)
>>> tokenizer.encode("lowest").pieces
['▁lowest']
>>> tokenizer.decode(tokenizer.encode("two  owls").ids)
'two  owls'
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Self

import tokenizers

from regard.errors import DataError, nearest
from regard.files import write_atomically
from regard.text import threads as threads
from regard.text.encoded import Encoded
from regard.text.kinds import BEGIN, END, PADDING, TOKENIZERS, UNKNOWN, Kind, Vocabulary
from regard.text.learning import reservoir
from regard.text.normalization import Normalization, without_surrogates
from regard.text.patterns import starts_cjk
from regard.text.settings import TokenizerSettings
from regard.text.stored import Origin, Stored, parse
from regard.text.varying import Varying, chance


class Change(NamedTuple):
    """The smallest stretch outside of which a text came back as it was; `start` counts characters."""

    start: int
    before: str
    after: str


class Tokenizer:
    """Pieces of text with their ids: learned once, then the same everywhere."""

    padding = PADDING
    begin = BEGIN
    end = END
    unknown = UNKNOWN
    opening: tuple[int, ...] = ()
    closing = (END,)
    between = (END,)
    special = frozenset((PADDING, BEGIN, END, UNKNOWN))

    def __init__(self, settings: TokenizerSettings, vocabulary: Vocabulary, origin: Origin) -> None:
        self.settings = settings
        self.vocabulary = vocabulary
        self.origin = origin
        self._kind: Kind = TOKENIZERS[settings.kind]()
        self._extra = frozenset(settings.extra)
        self._normalization = Normalization(settings.unicode, settings.lower, settings.extra)
        self._cutter = _cutter(self._kind, vocabulary, settings.extra)

    @classmethod
    def learn(cls, settings: TokenizerSettings, texts: Iterable[str], seed: int, always: Iterable[str] = ()) -> Self:
        """The tokenizer of these settings for these texts; the same texts and seed give the same one.

        What is `always` learned from is no part of what a sample is drawn from.
        """
        sample, lines = reservoir(texts, settings.sample, seed)
        kind = TOKENIZERS[settings.kind]()
        normalization = Normalization(settings.unicode, settings.lower, settings.extra)
        stretches: list[str] = []
        for text in chain(sample, always):
            normal = normalization(without_surrogates(text))
            stretches += normalization.outside(_opening(normal, kind, settings.extra) + normal)
        if not any(stretch.strip() for stretch in stretches):
            raise DataError(f"There is nothing to learn a tokenizer from: {lines} lines, all of them without text.")
        return cls(settings, kind.learn(stretches, settings.asked), Origin(lines=lines, used=len(sample)))

    def encode(self, text: str) -> Encoded:
        """The text in pieces; begin and end are not among them."""
        return self.encode_many([text])[0]

    def encode_many(self, texts: Iterable[str]) -> list[Encoded]:
        """Each text in pieces, as `encode` would cut it, many at a time."""
        texts = list(texts)
        shifts, prepared = self._prepared(texts)
        try:
            encodings = self._cutter.encode_batch(prepared, add_special_tokens=False)
        except TypeError:
            # The library takes only what UTF-8 can hold.
            encodings = self._cutter.encode_batch(list(map(without_surrogates, prepared)), add_special_tokens=False)
        return [
            Encoded(text, encoding, self.vocabulary, self._normalization, shift)
            for text, encoding, shift in zip(texts, encodings, shifts, strict=True)
        ]

    def ids_many(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids alone of each text, which takes less time: where a piece stood is not worked out."""
        _, prepared = self._prepared(list(texts))
        try:
            encodings = self._cutter.encode_batch_fast(prepared, add_special_tokens=False)
        except TypeError:
            # The library takes only what UTF-8 can hold.
            whole = list(map(without_surrogates, prepared))
            encodings = self._cutter.encode_batch_fast(whole, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def varied_many(self, texts: Iterable[str], dropout: float, seed: int, number: int) -> list[list[int]]:
        """The ids of each text, cut by chance (see `varying`); other numbers cut it in other ways."""
        if not self.vocabulary.merges:
            raise DataError(f"A tokenizer of the kind {self.settings.kind} has no merges that could be left out.")
        varying = Varying(self.vocabulary, dropout, self._extra)
        _, prepared = self._prepared(list(texts))
        whole = map(without_surrogates, prepared)
        return [varying.cut(self._words(text), chance(seed, number, text)) for text in whole]

    def _words(self, text: str) -> Iterator[str]:
        """The stretches of a prepared text that no piece crosses; an extra piece is one of them, and never cut."""
        for part, fixed in self._normalization.parts(text):
            if fixed:
                yield part
            else:
                yield from (word for word, _ in self._cutter.pre_tokenizer.pre_tokenize_str(part))

    def decode(self, ids: Iterable[int], unknown: str = "") -> str:
        """The text of these pieces; padding, begin and end are left out, and `unknown` stands for an unknown one.

        A text is decoded whole: what the pieces of its first half give is not always the first half of it.
        """
        tokens = [token for token in ids if token > END or token < 0]
        if tokens:
            # If these two are known, all are.
            self.piece(min(tokens)), self.piece(max(tokens))
        known = self.vocabulary.pieces
        pieces = [known[token] if token != UNKNOWN else unknown for token in tokens]
        text = self._kind.join([piece for piece in pieces if piece], self._extra | {unknown})
        return text.removeprefix(" ") if self._kind.after_space else text

    @property
    def cased(self) -> bool:
        return not self.settings.lower

    def normal(self, text: str) -> str:
        """The text as the settings say it is read: in its Unicode form, lower-cased."""
        return self._normalization(text)

    def change(self, text: str) -> Change | None:
        """What encoding and decoding would make of the normal text; None if it comes back as it was."""
        normal, restored = self.normal(text), self.decode(self.encode(text).ids)
        if restored == normal:
            return None
        start = _alike(normal, restored)
        same = _alike(normal[start:][::-1], restored[start:][::-1])
        return Change(start, normal[start : len(normal) - same], restored[start : len(restored) - same])

    def round_trip(self, text: str) -> bool:
        """Whether the normal text comes back from its pieces as it was."""
        return self.change(text) is None

    def unknown_rate(self, texts: Iterable[str]) -> float:
        """The share of unknown pieces among the pieces of all texts."""
        counts = [(encoded.ids.count(UNKNOWN), len(encoded)) for encoded in self.encode_many(texts)]
        return sum(unknown for unknown, _ in counts) / max(sum(length for _, length in counts), 1)

    @property
    def size(self) -> int:
        return len(self.vocabulary.pieces)

    @property
    def pieces(self) -> tuple[str, ...]:
        """All pieces in the order of their ids."""
        return self.vocabulary.pieces

    @property
    def keeps(self) -> str:
        """What this kind of tokenizer keeps of a text, in words."""
        return self._kind.keeps

    def id(self, piece: str) -> int:
        """The token of a piece."""
        if piece not in self._ids:
            raise DataError(f"No piece {piece!r} in this vocabulary of {self.size}.{nearest(piece, self._ids)}")
        return self._ids[piece]

    def piece(self, token: int) -> str:
        """The piece of a token."""
        if not 0 <= token < self.size:
            raise DataError(f"No token {token} in this vocabulary; its {self.size} tokens are 0 to {self.size - 1}.")
        return self.vocabulary.pieces[token]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return self.vocabulary.ids

    def __str__(self) -> str:
        fewer = f" of {self.settings.size} asked for (the text holds no more)" if self.size < self.settings.size else ""
        learned = f"learned from {self.origin.used} of {self.origin.lines} lines"
        return f"{self.settings.kind}: {self.size} pieces{fewer}, {learned}"

    def to_json(self) -> str:
        """This tokenizer as one JSON text."""
        return Stored.of(self.settings, self.origin, self.vocabulary).to_json()

    @classmethod
    def from_json(cls, text: str, place: str = "The tokenizer") -> Self:
        """The tokenizer `to_json` wrote; `place` names the text in errors."""
        stored = parse(text, place)
        try:
            return cls(stored.settings, stored.vocabulary, stored.origin)
        # The library raises plain exceptions of its own for pieces, merges and scores that do not fit together.
        except Exception as error:
            raise DataError(f"{place} is damaged: {error}.") from None

    def save(self, path: Path) -> None:
        with write_atomically(path) as file:
            file.write(self.to_json().encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"The tokenizer {path} cannot be read: {error}.") from None
        return cls.from_json(text, str(path))

    def _prepared(self, texts: list[str]) -> tuple[list[int], list[str]]:
        normal = list(map(self._normalization, texts))
        openings = [_opening(text, self._kind, self.settings.extra) for text in normal]
        return list(map(len, openings)), [opening + text for opening, text in zip(openings, normal, strict=True)]


def _opening(text: str, kind: Kind, extra: Sequence[str]) -> str:
    """The space put before a text, unless its first piece needs none.

    It can always be taken away again: a text that had a space of its own gets one more.
    """
    bare = not kind.after_space or not text or text.startswith(tuple(extra)) or starts_cjk(text)
    return "" if bare else " "


def _alike(first: str, second: str) -> int:
    """How many characters two texts share at their start."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(first), len(second)))


def _cutter(kind: Kind, vocabulary: Vocabulary, extra: Sequence[str]) -> tokenizers.Tokenizer:
    cutter = tokenizers.Tokenizer(kind.model(vocabulary))
    cutter.pre_tokenizer = kind.splitter()
    # Only extra pieces are searched for in texts: a text that spells out "<end>" means those five characters.
    cutter.add_tokens([tokenizers.AddedToken(piece, normalized=False, special=False) for piece in extra])
    return cutter
