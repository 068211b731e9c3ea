"""Tokenizers of pretrained models: a Hugging Face `tokenizer.json` with its special tokens, as one of ours.

What a text spells is text. "[CLS]" or "<|im_end|>" typed by a user is cut like any other word and never becomes the
special token of that name; whoever wants that token puts its id there.
"""

import json
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Literal, Self

import tokenizers
from pydantic import Field, NonNegativeInt
from tokenizers import Regex, pre_tokenizers

from regard.config import Settings
from regard.errors import ConfigError, DataError, nearest
from regard.text import threads as threads
from regard.text.encoded import Encoded
from regard.text.kinds import Vocabulary
from regard.text.normalization import Normalization, without_surrogates
from regard.text.tokenizers import Tokenizer
from regard.text.tokenizing import Tokenizing

FORMAT = "regard foreign tokenizer"
# More pieces than any tokenizer has: a single id can make a damaged file ask for all memory.
MOST = 2**23
# Left out of what is stored: framing, cutting and padding are the task's.
UNUSED = ("truncation", "padding", "post_processor")

_AS_IT_IS = Normalization("none", lower=False)


class Specials(Settings):
    """Which tokens are special. `size` is that of the model, where it has more rows than there are pieces."""

    padding: NonNegativeInt
    begin: NonNegativeInt
    end: NonNegativeInt
    unknown: NonNegativeInt
    mask: NonNegativeInt | None = None
    opening: tuple[NonNegativeInt, ...] = ()
    closing: tuple[NonNegativeInt, ...] = ()
    between: tuple[NonNegativeInt, ...] = ()
    size: NonNegativeInt = Field(default=0, le=MOST)

    @property
    def ids(self) -> frozenset[int]:
        """All of them."""
        single = (self.padding, self.begin, self.end, self.unknown)
        masks = () if self.mask is None else (self.mask,)
        return frozenset((*single, *masks, *self.opening, *self.closing, *self.between))


class StoredForeign(Specials):
    """Everything such a tokenizer is made of."""

    format: Literal["regard foreign tokenizer"] = "regard foreign tokenizer"
    version: Literal[1] = 1
    tokenizer: dict[str, Any]


class ForeignTokenizer:
    """A tokenizer learned elsewhere; it obeys `Tokenizing`."""

    def __init__(self, stored: StoredForeign, place: str = "The tokenizer") -> None:
        self._stored = stored
        self._library = library(json.dumps(stored.tokenizer), place)
        self._library.no_truncation()
        self._library.no_padding()
        self.pieces = _pieces(self._library, stored.size, place)
        self.padding, self.begin, self.end, self.unknown = stored.padding, stored.begin, stored.end, stored.unknown
        self.mask = stored.mask
        self.opening, self.closing, self.between = stored.opening, stored.closing, stored.between
        for token in sorted(stored.ids):
            if token >= self.size or not self.pieces[token]:
                raise DataError(f"{place} is damaged: its special token {token} is none of its {self.size} pieces.")
        added = self._library.get_added_tokens_decoder()
        self.special = stored.ids | {token for token, piece in added.items() if piece.special}
        # Where a model knows no unknown piece, another plays its part, which no text may spell.
        self._never = self.special - ({self.unknown} - {self.padding, self.begin, self.end})
        self._vocabulary = Vocabulary(self.pieces)
        _disarm(self._library, [self.pieces[token] for token in self.special])
        if self.unknown in self._never and any(len(self.pieces[token]) == 1 for token in self._never):
            raise DataError(f"{place} has a special piece of one character, and no unknown piece to read it as.")

    @classmethod
    def of(cls, tokenizer_json: str, specials: Specials, place: str = "The tokenizer") -> Self:
        """The tokenizer of a tokenizer.json; `place` names it in errors."""
        values = _table(tokenizer_json, place) | dict.fromkeys(UNUSED)
        values["added_tokens"] = [_marked(added, specials.ids) for added in _added(values, place)]
        return cls(StoredForeign(**specials.model_dump(), tokenizer=values), place)

    def beginning(self, begin: int, end: int) -> Self:
        """The same, for a model that begins and ends what it writes with these tokens."""
        return type(self)(self._stored.model_copy(update={"begin": begin, "end": end}))

    def encode(self, text: str) -> Encoded:
        """The text in pieces; no special one is put before or after it, and none is made of what it spells."""
        return self.encode_many([text])[0]

    def encode_many(self, texts: Iterable[str]) -> list[Encoded]:
        """Each text in pieces, as `encode` would cut it, many at a time."""
        texts = list(texts)
        try:
            encodings = self._library.encode_batch(texts, add_special_tokens=False)
        except TypeError:
            # The library takes only what UTF-8 can hold.
            encodings = self._library.encode_batch(list(map(without_surrogates, texts)), add_special_tokens=False)
        return [
            _Text(text, encoding, self._vocabulary, self._never, self.unknown)
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def ids_many(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids alone of each text."""
        return [list(cut.ids) for cut in self.encode_many(texts)]

    def decode(self, ids: Iterable[int], unknown: str = "") -> str:
        """The text of these pieces; special ones are left out, and `unknown` stands for an unknown one."""
        known = [token for token in ids if token not in self._never]
        spelled = (unknown if token == self.unknown else self.piece(token) or unknown for token in known)
        pieces = [piece for piece in spelled if piece]
        decoder = self._library.decoder
        return " ".join(pieces) if decoder is None else str(decoder.decode(pieces))

    @property
    def cased(self) -> bool:
        normalizer = self._library.normalizer
        return normalizer is None or "A" in normalizer.normalize_str("A")

    @property
    def size(self) -> int:
        return len(self.pieces)

    def id(self, piece: str) -> int:
        """The token of a piece."""
        if piece not in self._ids:
            raise DataError(f"No piece {piece!r} in this vocabulary of {self.size}.{nearest(piece, self._ids)}")
        return self._ids[piece]

    def piece(self, token: int) -> str:
        """The piece of a token; empty where the model has a row that no piece uses."""
        if not 0 <= token < self.size:
            raise DataError(f"No token {token} in this vocabulary; its {self.size} tokens are 0 to {self.size - 1}.")
        return self.pieces[token]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: token for token, piece in enumerate(self.pieces) if piece}

    def __str__(self) -> str:
        kind = self._stored.tokenizer.get("model", {}).get("type")
        return f"{kind} of a pretrained model: {len(self._ids)} pieces, {len(self.special)} of them special"

    def to_json(self) -> str:
        """This tokenizer as one JSON text."""
        return json.dumps(self._stored.model_dump(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, place: str = "The tokenizer") -> Self:
        """The tokenizer `to_json` wrote; `place` names the text in errors."""
        return cls.from_table(_table(text, place), place)

    @classmethod
    def from_table(cls, written: dict[str, Any], place: str) -> Self:
        """The tokenizer of the table that `to_json` wrote down."""
        try:
            stored = StoredForeign.read(written)
        except ConfigError as error:
            raise DataError(f"{place} is damaged: {_short(error)}") from None
        return cls(stored, place)

    def __reduce__(self) -> tuple[Any, ...]:
        # The library's own way of copying itself forgets that what a text spells is text.
        return type(self).from_json, (self.to_json(),)


class _Text(Encoded):
    """A text in pieces that are text: should the library give a special one, the unknown piece takes its place."""

    def __init__(
        self, text: str, encoding: tokenizers.Encoding, vocabulary: Vocabulary, never: frozenset[int], unknown: int
    ) -> None:
        super().__init__(text, encoding, vocabulary, _AS_IT_IS, shift=0)
        self._never, self._unknown = never, unknown

    @cached_property
    def ids(self) -> list[int]:
        found = self._encoding.ids
        return found if self._never.isdisjoint(found) else [self._unknown if i in self._never else i for i in found]


def restored(text: str, place: str = "The tokenizer") -> Tokenizing:
    """The tokenizer some `to_json` wrote, ours or one of a pretrained model; `place` names the text in errors."""
    written = _table(text, place)
    if written.get("format") == FORMAT:
        return ForeignTokenizer.from_table(written, place)
    return Tokenizer.from_json(text, place)


def _table(text: str, place: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is not JSON ({error}); it was cut short or is another file.") from None
    if not isinstance(values, dict):
        raise DataError(f"{place} holds a {type(values).__name__}, not a tokenizer; name another file.")
    return values


def _added(values: dict[str, Any], place: str) -> list[dict[str, Any]]:
    added = values.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(one, dict) for one in added):
        raise DataError(f"{place} is damaged: its added_tokens are no list of tokens.")
    return added


def _marked(added: dict[str, Any], special: frozenset[int]) -> dict[str, Any]:
    return added | {"special": True} if added.get("id") in special else added


def library(text: str, place: str) -> tokenizers.Tokenizer:
    """The library's own tokenizer of this JSON text."""
    try:
        return tokenizers.Tokenizer.from_str(text)
    except (KeyboardInterrupt, SystemExit):
        raise
    # The library raises plain exceptions, and where a file surprises it one that is no Exception at all.
    except BaseException as error:
        raise DataError(f"{place} is damaged, or no tokenizer.json: {_short(error)}") from None


def _pieces(library: tokenizers.Tokenizer, size: int, place: str) -> tuple[str, ...]:
    """All pieces in the order of their ids; nothing where there is none."""
    found = {token: piece for piece, token in library.get_vocab(with_added_tokens=False).items()}
    found |= {token: added.content for token, added in library.get_added_tokens_decoder().items()}
    size = max(size, max(found, default=-1) + 1)
    if not found or size > MOST:
        raise DataError(f"{place} is damaged: {len(found)} pieces with ids up to {size - 1}.")
    return tuple(found.get(token, "") for token in range(size))


def _disarm(library: tokenizers.Tokenizer, special: Iterable[str]) -> None:
    """Makes text of what a text spells.

    The library looks for special pieces in a text unless told not to. Some models would still put one together from
    its characters, so what is spelled like one loses its first character before the model sees it.
    """
    library.encode_special_tokens = True
    model = library.get_vocab(with_added_tokens=False)
    spelled: dict[str, list[str]] = {}
    for piece in special:
        if len(piece) > 1 and piece in model:
            # A space may be written as ▁ by then.
            spelled.setdefault(piece[0], []).append(re.escape(piece[1:]).replace("▁", "[▁ ]"))
    if spelled:
        pattern = "|".join(f"{re.escape(first)}(?=(?:{'|'.join(sorted(rest))}))" for first, rest in spelled.items())
        apart = pre_tokenizers.Split(Regex(pattern), "isolated")
        then = [] if library.pre_tokenizer is None else [library.pre_tokenizer]
        library.pre_tokenizer = pre_tokenizers.Sequence([apart, *then])


def _short(error: BaseException) -> str:
    """The first line of a message, which may quote a whole file."""
    line = str(error).split("\n", 1)[0]
    return (line if len(line) <= 200 else f"{line[:200]}...").removesuffix(".") + "."
