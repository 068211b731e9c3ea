"""A text in pieces, each with the characters it came from."""

from functools import cached_property

from tokenizers import Encoding

from regard.text.kinds import Vocabulary
from regard.text.normalization import Normalization

Span = tuple[int, int]


class Encoded:
    """The ids of a text's pieces; the pieces themselves and their spans are worked out when asked for.

    Spans count characters of the text as it was given, before any normalization. They never run backwards; where one
    character became several pieces, each of them has all of it.
    """

    def __init__(
        self, text: str, encoding: Encoding, vocabulary: Vocabulary, normalization: Normalization, shift: int
    ) -> None:
        self.text = text
        self._encoding = encoding
        self._vocabulary = vocabulary
        self._normalization = normalization
        # How many characters were put before the text.
        self._shift = shift

    @cached_property
    def ids(self) -> list[int]:
        return self._encoding.ids

    @cached_property
    def pieces(self) -> list[str]:
        # Not those of the library: for an unknown piece it sometimes gives the text.
        return [self._vocabulary.pieces[token] for token in self.ids]

    @cached_property
    def spans(self) -> list[Span]:
        """[start, end) of every piece, in characters."""
        found = self._encoding.offsets
        if self._shift:
            found = [(max(start - self._shift, 0), max(end - self._shift, 0)) for start, end in found]
        return found if self._normalization.changes_nothing(self.text) else self._original(found)

    def _original(self, spans: list[Span]) -> list[Span]:
        origins = self._normalization.origins(self.text)
        return [(origins[start][0], origins[end - 1][1] if end > start else origins[start][0]) for start, end in spans]

    def __len__(self) -> int:
        return len(self._encoding)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Encoded):
            return NotImplemented
        return (self.text, self.ids, self.pieces, self.spans) == (other.text, other.ids, other.pieces, other.spans)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Encoded(ids={self.ids}, pieces={self.pieces}, spans={self.spans})"
