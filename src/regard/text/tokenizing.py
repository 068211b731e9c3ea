"""What tasks may ask of any tokenizer, whoever made it, and text that appears while it is being generated."""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Protocol, runtime_checkable

from regard.text.encoded import Span

# A byte spelled out, as tokenizers have it that know characters and fall back on bytes.
_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_HALF = "\ufffd"


@runtime_checkable
class Cut(Protocol):
    """A text in pieces; spans are characters [start, end) of the text as it was given."""

    text: str

    @property
    def ids(self) -> list[int]: ...

    @property
    def pieces(self) -> list[str]: ...

    @property
    def spans(self) -> list[Span]: ...

    def __len__(self) -> int: ...


@runtime_checkable
class Tokenizing(Protocol):
    """A tokenizer: its special tokens, how an encoder's text is framed with them, and text to pieces and back."""

    @property
    def padding(self) -> int: ...

    @property
    def begin(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def unknown(self) -> int: ...

    @property
    def opening(self) -> tuple[int, ...]:
        """Put before a text, or before the first of two, for an encoder."""

    @property
    def closing(self) -> tuple[int, ...]:
        """Put after a text, or after the second of two, for an encoder."""

    @property
    def between(self) -> tuple[int, ...]:
        """Put between two texts."""

    @property
    def special(self) -> frozenset[int]:
        """The tokens that are no text; none but `unknown` ever comes from one."""

    @property
    def cased(self) -> bool:
        """Whether capitals are told from small letters."""

    @property
    def size(self) -> int: ...

    @property
    def pieces(self) -> tuple[str, ...]: ...

    def encode(self, text: str) -> Cut:
        """The text in pieces, none of them put before or after."""

    def encode_many(self, texts: Iterable[str]) -> Sequence[Cut]: ...

    def ids_many(self, texts: Iterable[str]) -> list[list[int]]: ...

    def decode(self, ids: Iterable[int], unknown: str = "") -> str: ...

    def piece(self, token: int) -> str: ...

    def id(self, piece: str) -> int: ...

    def to_json(self) -> str: ...


@runtime_checkable
class Joining(Protocol):
    """What makes text of pieces: all that a stream of them asks of a tokenizer."""

    def decode(self, ids: Iterable[int], unknown: str = "") -> str: ...

    def piece(self, token: int) -> str: ...


class Streaming:
    """Text as its pieces come one by one: what has been given out never changes.

    A piece may still change how the one before it reads (a continued word, the second half of a character), so text is
    given out when the next piece agrees with it. All of it together is what `decode` makes of all pieces.
    """

    def __init__(self, tokenizer: Joining, unknown: str = "") -> None:
        self.tokenizer = tokenizer
        self.unknown = unknown
        self._ids: list[int] = []
        self._text = ""
        self._given = 0

    def feed(self, token: int) -> str:
        """The text that has been settled by this piece, often none."""
        before, self._text = self._text, self._decoded(token)
        # A run of spelled-out bytes reads as characters or as nothing but errors, depending on its last byte; a piece
        # that is no text does not end it.
        if self._text == before or _BYTE.fullmatch(self.tokenizer.piece(token)):
            return ""
        return self._until(_alike(before, self._text.rstrip(_HALF)))

    def settled(self, ids: Sequence[int], over: bool = False) -> str:
        """All that is settled of these pieces, which begin with those of before; all of the text if it is `over`."""
        for token in ids[len(self._ids) :]:
            self.feed(token)
        if over:
            self.finish()
        return self._text[: self._given]

    def finish(self) -> str:
        """The rest of the text."""
        return self._until(len(self._text))

    def _decoded(self, token: int) -> str:
        self._ids.append(token)
        return self.tokenizer.decode(self._ids, self.unknown)

    def _until(self, end: int) -> str:
        start, self._given = self._given, max(end, self._given)
        return self._text[start : self._given]


def _alike(first: str, second: str) -> int:
    """How many characters two texts share at their start."""
    if second.startswith(first):
        return len(first)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
