"""What a tokenizer should be."""

from typing import Self

from pydantic import PositiveInt, field_validator, model_validator

from regard.config import Settings
from regard.errors import unknown
from regard.text.kinds import SPECIALS, TOKENIZERS, Asked
from regard.text.normalization import Form


class TokenizerSettings(Settings):
    """`size` counts all pieces, special ones included; text that holds fewer gives fewer.

    `least` is how often a character, a word or a merge must occur to be learned (unigram: characters only). `sample` is
    how many lines at most to learn from. `extra` pieces, such as `<2de>`, are found anywhere in a text and never cut;
    their ids follow those of padding, begin, end and unknown.
    """

    kind: str = "bpe"
    size: PositiveInt = 8000
    lower: bool = False
    unicode: Form = "none"
    least: PositiveInt = 1
    sample: PositiveInt = 1_000_000
    extra: tuple[str, ...] = ()

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in TOKENIZERS:
            raise ValueError(unknown("tokenizer", kind, TOKENIZERS).removesuffix("."))
        return kind

    @field_validator("extra")
    @classmethod
    def _usable(cls, extra: tuple[str, ...]) -> tuple[str, ...]:
        for piece in extra:
            if not piece or any(character.isspace() for character in piece) or not _writable(piece):
                raise ValueError(f"{piece!r} cannot be a piece of its own; give characters, without spaces")
            if piece in SPECIALS or extra.count(piece) > 1:
                raise ValueError(f"there already is a piece {piece!r}; name every extra piece once")
        return extra

    @model_validator(mode="after")
    def _large_enough(self) -> Self:
        needed = len(self.fixed) + TOKENIZERS[self.kind].fewest
        if self.size < needed:
            raise ValueError(f"size = {self.size} is too small; {self.kind} needs {needed} or more")
        return self

    @property
    def fixed(self) -> tuple[str, ...]:
        """The pieces every vocabulary begins with."""
        return SPECIALS + self.extra

    @property
    def asked(self) -> Asked:
        return Asked(self.fixed, self.size, self.least)


def _writable(piece: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in piece)
